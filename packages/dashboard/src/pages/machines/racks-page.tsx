import type { Rack } from 'muster-client';
import { muster } from '../../api';
import { ActionMenu } from '../../actions/action-button';
import { machineActions } from '../../actions/machine-actions';
import { Badge } from '../../ui/badge';
import { Go, useFilters } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { Heading } from '../../ui/heading';

interface Row {
  readonly rack: Rack;
  readonly machines: number;
  readonly isExpiring: boolean;
}

const columns: readonly Column<Row>[] = [
  {
    id: 'id',
    title: 'Rack',
    value: ({ rack }) => rack.id,
    cell: ({ rack }) => (
      <Go to="/slaves" search={{ q: rack.id }}>
        {rack.id}
      </Go>
    ),
  },
  {
    id: 'state',
    title: 'State',
    value: ({ rack }) => rack.currentState.state,
    cell: ({ rack }) => <Badge of="machine" state={rack.currentState.state} />,
  },
  {
    id: 'since',
    title: 'Since',
    value: ({ rack }) => rack.currentState.timestamp,
    cell: ({ rack }) => <Time at={rack.currentState.timestamp} />,
  },
  {
    id: 'machines',
    title: 'Machines',
    align: 'end',
    value: ({ machines }) => machines,
    cell: ({ machines }) => machines,
  },
  { id: 'user', title: 'By', cell: ({ rack }) => rack.currentState.user ?? '' },
  { id: 'message', title: 'Message', cell: ({ rack }) => rack.currentState.message ?? '' },
  {
    id: 'do',
    title: '',
    cell: ({ rack, isExpiring }) => (
      <ActionMenu
        label={`Actions of ${rack.id}`}
        text="⋯"
        actions={machineActions({ kind: 'rack', id: rack.id, state: rack.currentState.state, isExpiring })}
      />
    ),
  },
];

export function Page() {
  const [{ state }] = useFilters();
  const read = useRead(['machines', 'racks'], async () => {
    const [racks, slaves, expiring] = await Promise.all([
      muster.racks.list({}),
      muster.slaves.list({}),
      muster.racks.expiring({}),
    ]);
    return racks.map((rack) => ({
      rack,
      machines: slaves.filter(({ rackId }) => rackId === rack.id).length,
      isExpiring: expiring.some(({ machineId }) => machineId === rack.id),
    }));
  });
  return (
    <>
      <div className="head">
        <Heading>Racks</Heading>
        <Go to="/slaves">Machines</Go>
      </div>
      <Panel of={read}>
        {(rows) => (
          <Table
            label="Racks"
            rows={rows.filter(({ rack }) => !state || rack.currentState.state === state)}
            columns={columns}
            keyOf={({ rack }) => rack.id}
            empty="No rack is known."
          />
        )}
      </Panel>
    </>
  );
}
