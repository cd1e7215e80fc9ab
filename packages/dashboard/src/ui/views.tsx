import { useLocation } from '@tanstack/react-router';
import { openAction, type Action } from '../actions/action';
import { settingsKey, useSettings } from '../live/user-settings';
import { changeViews } from '../live/saved-views';
import { viewsIn, withoutView, withView, type View } from '../live/views';
import { Go } from './links';
import { MenuButton } from './menu';

const outdates = [settingsKey];

const save = (to: string, name: string): Action => ({
  id: 'save-view',
  label: 'Save view',
  explains: 'Keeps this page and its filters under a name, for you, in any browser.',
  fields: [
    { kind: 'text', name: 'name', label: 'Name', initial: name },
    { kind: 'check', name: 'start', label: 'Start here', initial: false },
  ],
  run: (values) => {
    const given = values.text('name');
    if (given === undefined) return Promise.reject(new Error('A view needs a name'));
    return changeViews((saved) => withView(saved, { name: given, to }, values.isSet('start')));
  },
  done: 'The view is saved',
  outdates,
});

const remove = ({ name }: View): Action => ({
  id: 'remove-view',
  label: `Remove ${name}`,
  explains: `The view ${name} is kept no more.`,
  fields: [],
  run: () => changeViews((saved) => withoutView(saved, name)),
  done: 'The view is removed',
  outdates,
});

const start = (view: View, isStart: boolean): Action => ({
  id: 'start-view',
  label: isStart ? `Start at ${view.name}` : `Start at ${view.name} no more`,
  explains: isStart ? 'The dashboard starts with this view.' : 'The dashboard starts with all requests.',
  fields: [],
  run: () => changeViews((saved) => withView(saved, view, isStart)),
  done: 'Saved',
  outdates,
});

/** The saved views of the page that is shown, and a way to save it as it is. */
export function Views() {
  const settings = useSettings();
  const { pathname, searchStr } = useLocation();
  const here = `${pathname}${searchStr}`;
  const saved = viewsIn(settings.data?.preferences);
  const views = saved.views.filter(({ to }) => to.split('?')[0] === pathname);
  const open = views.find(({ to }) => to === here);
  return (
    <span className="views">
      {views.map(({ name, to }) => (
        <Go
          key={name}
          to={pathname}
          search={Object.fromEntries(new URLSearchParams(to.split('?')[1] ?? ''))}
          className={to === here ? 'chip button open' : 'chip button'}
        >
          {name}
          {saved.start === name && ' ⌂'}
        </Go>
      ))}
      <MenuButton
        label="View"
        choices={[
          { label: 'Save view', onChoose: () => openAction.set(save(here, open?.name ?? '')) },
          ...(open
            ? [start(open, saved.start !== open.name), remove(open)].map((action) => ({
                label: action.label,
                onChoose: () => openAction.set(action),
              }))
            : []),
        ]}
      />
    </span>
  );
}
