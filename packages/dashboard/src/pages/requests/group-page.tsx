import { useState } from 'react';
import type { RequestGroup, RequestParent } from 'muster-client';
import { muster, orNone } from '../../api';
import { openAction } from '../../actions/action';
import { removeGroup, saveGroup } from '../../actions/group-actions';
import { RequestStateMark } from '../../live/request-state';
import { type Troubles, troublesOf } from '../../live/troubles';
import { useTroubles } from '../../live/use-troubles';
import { DeployLink, RequestLink, useParam } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { useZone } from '../../ui/time';
import { isoTime } from '../../ui/time-format';
import { windowsText } from '../request/rules';
import { Bulk } from './bulk';
import { Health } from './request-list';
import { Heading } from '../../ui/heading';

const columnsWith = (troubles: Troubles): readonly Column<RequestParent>[] => [
  {
    id: 'id',
    title: 'Request',
    value: ({ request }) => request.id,
    cell: ({ request }) => <RequestLink id={request.id} />,
  },
  {
    id: 'state',
    title: 'State',
    value: ({ state }) => state,
    cell: (row) => <RequestStateMark row={row} troubles={troublesOf(row, troubles)} />,
  },
  {
    id: 'health',
    title: 'Instances',
    cell: (row) => <Health row={row} />,
  },
  {
    id: 'deploy',
    title: 'Deploy',
    cell: ({ request, requestDeployState }) =>
      requestDeployState?.activeDeploy ? (
        <DeployLink requestId={request.id} deployId={requestDeployState.activeDeploy.deployId} />
      ) : (
        'none'
      ),
  },
];

/** Notes of people, and the windows of deploys. */
const facts = ({ metadata = {}, deployWindows }: RequestGroup, zone: string | undefined): [string, string][] => {
  const windows = deployWindows && windowsText(deployWindows, undefined, (at) => isoTime(at, zone));
  return [...(windows ? [['Deploys only', windows] as [string, string]] : []), ...Object.entries(metadata)];
};

/** A group of requests: one that was made as such, or those whose group has this name. */
export function Page() {
  const groupId = useParam('groupId');
  const troubles = useTroubles();
  const zone = useZone();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const read = useRead(['request', 'group', groupId], async () => {
    const group = await orNone(muster.groups.get({ requestGroupId: groupId }));
    const ids =
      group?.requestIds ??
      (await muster.requests.list({}))
        .filter(({ request }) => request.group === groupId)
        .map(({ request }) => request.id);
    const { requests, notFound } =
      ids.length === 0 ? { requests: [], notFound: [] } : await muster.requests.batch({ id: [...ids] });
    return { group, requests, notFound };
  });
  return (
    <>
      <Heading>Group {groupId}</Heading>
      <Panel of={read}>
        {({ group, requests, notFound }) => (
          <>
            {group && facts(group, zone).length > 0 && (
              <dl className="facts">
                {facts(group, zone).map(([name, value]) => (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                  </div>
                ))}
              </dl>
            )}
            {group && (
              <div className="buttons">
                {[saveGroup(group), removeGroup(group)].map((action) => (
                  <button key={action.id} type="button" onClick={() => openAction.set(action)}>
                    {action.label}
                  </button>
                ))}
              </div>
            )}
            <Table
              label="Requests of the group"
              rows={requests}
              columns={columnsWith(troubles)}
              keyOf={({ request }) => request.id}
              empty="The group has no requests."
            />
            {notFound.length > 0 && <p className="notice">Removed: {notFound.join(', ')}</p>}
            {requests.length > 0 && chosen.size === 0 && (
              <button type="button" onClick={() => setChosen(new Set(requests.map(({ request }) => request.id)))}>
                Do something with all {requests.length}
              </button>
            )}
            {chosen.size > 0 && <Bulk ids={[...chosen]} all={requests} choose={setChosen} />}
          </>
        )}
      </Panel>
    </>
  );
}
