import type { RequestGroup } from 'muster-client';
import { muster } from '../../api';
import { openAction } from '../../actions/action';
import { saveGroup } from '../../actions/group-actions';
import { Heading } from '../../ui/heading';
import { Go, paths } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';

const columns: readonly Column<RequestGroup>[] = [
  { id: 'id', title: 'Group', value: ({ id }) => id, cell: ({ id }) => <Go to={paths.group(id)}>{id}</Go> },
  {
    id: 'requests',
    title: 'Requests',
    align: 'end',
    value: ({ requestIds }) => requestIds?.length ?? 0,
    cell: ({ requestIds }) => requestIds?.length ?? 0,
  },
  {
    id: 'notes',
    title: 'Notes',
    cell: ({ metadata }) =>
      Object.entries(metadata ?? {})
        .map(([name, value]) => `${name}: ${value}`)
        .join(', '),
  },
];

/** The groups of requests that were made as such. */
export function Page() {
  const read = useRead(['groups'], () => muster.groups.list({}));
  return (
    <>
      <div className="head">
        <Heading>Groups</Heading>
        <span className="grow" />
        <button type="button" className="primary" onClick={() => openAction.set(saveGroup())}>
          Make group
        </button>
      </div>
      <Panel of={read}>
        {(groups) => (
          <Table label="Groups" rows={groups} columns={columns} keyOf={({ id }) => id} empty="No group was made." />
        )}
      </Panel>
    </>
  );
}
