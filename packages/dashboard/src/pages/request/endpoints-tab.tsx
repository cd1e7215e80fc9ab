import type { Endpoint, LeftOutTask } from 'muster-client';
import { muster } from '../../api';
import { DeployLink, Go, HostLink, paths } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { inWords } from '../../ui/words';

/** Tasks of a service that get calls, and the others with the reason. */
export function EndpointsTab({ requestId }: { requestId: string }) {
  // No event tells of a task without a health check that has run for long enough.
  const read = useRead(['request', requestId, 'endpoints'], () => muster.services.endpoints({ requestId, all: true }), {
    everyMs: 10_000,
  });
  return (
    <Panel of={read}>
      {({ endpoints, leftOut = [] }) => (
        <>
          <Table
            label="Endpoints"
            rows={endpoints}
            columns={columnsOf<Endpoint>(requestId, [
              {
                id: 'since',
                title: 'Healthy since',
                value: ({ healthySince }) => healthySince,
                cell: ({ healthySince }) => <Time at={healthySince} />,
              },
            ])}
            keyOf={({ taskId }) => taskId}
            empty="No task gets calls."
          />
          {leftOut.length > 0 && (
            <>
              <h2>Without calls</h2>
              <Table
                label="Tasks without calls"
                rows={leftOut}
                columns={columnsOf<LeftOutTask>(requestId, [
                  {
                    id: 'reason',
                    title: 'Reason',
                    value: ({ reason }) => reason,
                    cell: ({ reason }) => inWords(reason),
                  },
                  { id: 'message', title: 'Why', cell: ({ message }) => message },
                ])}
                keyOf={({ taskId }) => taskId}
                empty=""
              />
            </>
          )}
        </>
      )}
    </Panel>
  );
}

const columnsOf = <T extends Endpoint | LeftOutTask>(
  requestId: string,
  more: readonly Column<T>[],
): readonly Column<T>[] => [
  {
    id: 'no',
    title: '#',
    value: ({ instanceNo }) => instanceNo,
    cell: ({ taskId, instanceNo }) => <Go to={paths.task(taskId)}>{instanceNo}</Go>,
  },
  {
    id: 'address',
    title: 'Address',
    cell: (task) => ('port' in task ? addressOf(task) : task.host),
  },
  { id: 'ports', title: 'Ports', cell: ({ ports }) => ports.join(' ') },
  { id: 'machine', title: 'Machine', value: ({ host }) => host, cell: ({ host }) => <HostLink host={host} /> },
  { id: 'rack', title: 'Rack', value: ({ rackId }) => rackId, cell: ({ rackId }) => rackId },
  {
    id: 'deploy',
    title: 'Deploy',
    value: ({ deployId }) => deployId,
    cell: ({ deployId }) => <DeployLink requestId={requestId} deployId={deployId} />,
  },
  ...more,
];

const addressOf = ({ host, port }: Endpoint): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;
