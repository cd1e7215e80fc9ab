import { useState } from 'react';
import type { DeployHistory, RequestParent } from 'muster-client';
import { muster } from '../../api';
import { ActionButton } from '../../actions/action-button';
import { rollBack } from '../../actions/request-actions';
import { Badge, Mark } from '../../ui/badge';
import { DeployLink, Go, paths } from '../../ui/links';
import { Pager } from '../../ui/pager';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { inWords } from '../../ui/words';

const PAGE = 20;

export function DeploysTab({ parent }: { parent: RequestParent }) {
  const requestId = parent.request.id;
  const active = parent.requestDeployState?.activeDeploy?.deployId;
  const pending = parent.requestDeployState?.pendingDeploy?.deployId;
  const [page, setPage] = useState(1);
  const read = useRead(
    ['request', requestId, 'deploys', page],
    () => muster.history.deploysPage({ requestId, count: PAGE, page }),
    { isPaged: true },
  );
  const columns: readonly Column<DeployHistory>[] = [
    {
      id: 'id',
      title: 'Deploy',
      value: ({ deployMarker }) => deployMarker.deployId,
      cell: ({ deployMarker }) => (
        <>
          <DeployLink requestId={requestId} deployId={deployMarker.deployId} />{' '}
          {deployMarker.deployId === active && <Mark tone="good">active</Mark>}
        </>
      ),
    },
    {
      id: 'state',
      title: 'Result',
      value: ({ deployResult }) => deployResult?.deployState ?? '',
      cell: ({ deployResult }) => <Badge of="deploy" state={deployResult?.deployState ?? 'WAITING'} />,
    },
    { id: 'why', title: 'Why', cell: whyOf },
    {
      id: 'user',
      title: 'By',
      value: ({ deployMarker }) => deployMarker.user ?? '',
      cell: ({ deployMarker }) => deployMarker.user ?? '',
    },
    {
      id: 'at',
      title: 'Started',
      value: ({ deployMarker }) => deployMarker.timestamp,
      cell: ({ deployMarker }) => <Time at={deployMarker.timestamp} />,
    },
    { id: 'message', title: 'Message', cell: ({ deployMarker }) => deployMarker.message ?? '' },
    {
      id: 'do',
      title: '',
      cell: ({ deployMarker: { deployId } }) => (
        <>
          {deployId !== active && pending === undefined && (
            <ActionButton className="quiet" action={rollBack(parent, deployId)} label="Roll back to this" />
          )}
          <Go to={`${paths.request(requestId)}/deploy`} search={{ from: deployId }}>
            Deploy from this
          </Go>
        </>
      ),
    },
  ];
  return (
    <Panel of={read}>
      {({ objects, pageCount }) => (
        <>
          <Table
            label="Deploys"
            rows={objects}
            columns={columns}
            keyOf={({ deployMarker }) => deployMarker.deployId}
            empty="Nothing was deployed yet."
          />
          <Pager page={page} pageCount={pageCount} onPage={setPage} />
        </>
      )}
    </Panel>
  );
}

function whyOf({ deployResult, waitsBecause }: DeployHistory): string {
  const [first] = deployResult?.deployFailures ?? [];
  return deployResult?.message ?? (first ? `${inWords(first.reason)} ${first.message ?? ''}` : (waitsBecause ?? ''));
}
