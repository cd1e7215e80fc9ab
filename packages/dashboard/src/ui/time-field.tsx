import { useZone } from './time';
import { fieldTime, timeOfField } from './time-format';

/** A field for a point in time, in epoch milliseconds as text, by the clock of the zone that the page shows. */
export function TimeField(props: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  const zone = useZone();
  return (
    <label>
      {props.label} ({zone ?? 'local'}){' '}
      <input
        type="datetime-local"
        value={shownInField(props.value, zone)}
        onChange={({ target }) =>
          props.onChange(target.value === '' ? undefined : String(timeOfField(target.value, zone)))
        }
      />
    </label>
  );
}

/** An address may hold anything. */
const shownInField = (text: string | undefined, zone: string | undefined): string =>
  text !== undefined && /^\d{1,14}$/.test(text) ? fieldTime(Number(text), zone) : '';
