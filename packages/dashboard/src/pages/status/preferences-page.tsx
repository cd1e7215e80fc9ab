import { useSignal } from '../../live/signal';
import { isZone, prefer, preferences, type Preferences } from '../../preferences';
import { Heading } from '../../ui/heading';

const zones = ['browser', 'UTC', ...Intl.supportedValuesOf('timeZone')];

const keys: readonly (readonly [string, string])[] = [
  ['/ or s or t or Ctrl-K', 'Find'],
  ['g r', 'Requests'],
  ['g t', 'Tasks'],
  ['g m', 'Machines'],
  ['g s', 'Status'],
  ['Enter, Shift-Enter', 'In the search of a log: the next line that was found, the one before'],
  ['Escape', 'Close what is open'],
];

/** Kept in this browser. */
export function Page() {
  const { theme, times, zone, letterKeys } = useSignal(preferences);
  return (
    <>
      <Heading>Preferences</Heading>
      <label className="field">
        <span>Theme</span>
        <select value={theme} onChange={(event) => prefer({ theme: event.target.value as Preferences['theme'] })}>
          <option value="system">As in the system</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
      <label className="field">
        <span>Times</span>
        <select value={times} onChange={(event) => prefer({ times: event.target.value as Preferences['times'] })}>
          <option value="relative">As ages: 5 min. ago</option>
          <option value="exact">By the clock</option>
        </select>
      </label>
      <label className="field">
        <span>Time zone</span>
        <select value={zone} onChange={(event) => isZone(event.target.value) && prefer({ zone: event.target.value })}>
          {zones.map((each) => (
            <option key={each} value={each}>
              {each === 'browser' ? 'As in the browser' : each}
            </option>
          ))}
        </select>
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={letterKeys}
          onChange={(event) => prefer({ letterKeys: event.target.checked })}
        />{' '}
        Keys without Ctrl
      </label>
      <h2>Keys</h2>
      <dl className="facts wide">
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
