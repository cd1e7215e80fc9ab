import { useDeferredValue, useMemo, useState } from 'react';
import { Autocomplete } from '@base-ui/react/autocomplete';
import { Dialog } from '@base-ui/react/dialog';
import { useNavigate } from '@tanstack/react-router';
import { muster } from '../api';
import { useRead } from '../ui/read';
import { best } from '../ui/find';
import { paths } from '../ui/links';
import { palette } from './keys';
import { useIsAdministrator, useRefusal } from '../live/rights';

interface Found {
  readonly label: string;
  readonly kind: string;
  readonly to: string;
}

const pages: readonly Found[] = (
  [
    ['Requests', '/requests'],
    ['New request', '/requests/new'],
    ['Tasks', '/tasks'],
    ['Task search', '/task-search'],
    ['Schedules', '/schedules'],
    ['Machines', '/slaves'],
    ['Racks', '/racks'],
    ['Utilization', '/utilization'],
    ['Status', '/status'],
    ['Groups', '/groups'],
    ['Crash loops', '/crash-loops'],
    ['Activity', '/activity'],
    ['Disasters', '/disasters'],
    ['Webhooks', '/webhooks'],
    ['Mail', '/mail'],
    ['Tokens', '/tokens'],
    ['Preferences', '/preferences'],
  ] as const
).map(([label, to]) => ({ label, kind: 'page', to }));
const all: readonly Found[] = [...pages, { label: 'Audit', kind: 'page', to: '/audit' }];

const LIMIT = 10;
/** Ids of tasks end with their host and rack, and have a time in epoch milliseconds in them. */
const looksLikeTask = /-\d{13}-\d+-/;

function find(
  ids: readonly string[],
  pages: readonly Found[],
  machines: readonly Found[],
  groups: readonly Found[],
  typed: string,
): readonly Found[] {
  if (looksLikeTask.test(typed)) return [{ label: typed.trim(), kind: 'task', to: paths.task(typed.trim()) }];
  const requests = best(ids, (id) => id, typed, LIMIT).map((id) => ({
    label: id,
    kind: 'request',
    to: paths.request(id),
  }));
  const others = typed.trim() === '' ? pages : best([...pages, ...machines, ...groups], ({ label }) => label, typed, 5);
  return [...requests, ...others].slice(0, LIMIT);
}

/** Finds a request, a page, a machine, a group or a task by a part of its name. */
export function Palette() {
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const ids = useRead(['ids'], () => muster.requests.ids({}));
  const machines = useRead(['machines'], () => muster.slaves.list({}));
  const groups = useRead(['groups'], () => muster.groups.list({}));
  const isAdministrator = useIsAdministrator();
  const mayCreate = useRefusal('new request') === undefined;
  const known = useMemo(
    () => (isAdministrator ? all : pages).filter(({ to }) => mayCreate || to !== '/requests/new'),
    [isAdministrator, mayCreate],
  );
  const later = useDeferredValue(typed);
  const found = useMemo(
    () =>
      find(
        ids.data ?? [],
        known,
        (machines.data ?? []).map(({ host }) => ({
          label: host,
          kind: 'machine',
          to: `/tasks?q=${encodeURIComponent(host)}`,
        })),
        (groups.data ?? []).map(({ id }) => ({ label: id, kind: 'group', to: paths.group(id) })),
        later,
      ),
    [ids.data, known, machines.data, groups.data, later],
  );
  const close = () => palette.set(false);
  const go = ({ to }: Found) => {
    close();
    void navigate({
      href: undefined,
      to: to.split('?')[0]!,
      search: Object.fromEntries(new URLSearchParams(to.split('?')[1])) as never,
    });
  };
  return (
    <Dialog.Root open onOpenChange={(open) => !open && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog palette" aria-label="Find">
          <Autocomplete.Root
            open
            inline
            items={found}
            filter={null}
            value={typed}
            onValueChange={(value) => setTyped(value)}
            itemToStringValue={({ label }: Found) => label}
            autoHighlight="always"
            keepHighlight
          >
            <Autocomplete.Input
              className="wide"
              placeholder="Request, page, machine, group or id of a task"
              aria-label="Find"
            />
            <Autocomplete.List className="found">
              {(each: Found) => (
                <Autocomplete.Item
                  key={`${each.kind} ${each.label}`}
                  value={each}
                  className="menu-item"
                  onClick={() => go(each)}
                >
                  {each.label} <span className="faint">{each.kind}</span>
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
            {found.length === 0 && <p className="empty">Nothing has such a name.</p>}
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
