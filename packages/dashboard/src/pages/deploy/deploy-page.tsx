import { useState } from 'react';
import type { DeployHistory, RequestParent, TaskIdHistory } from 'muster-client';
import { muster, orNone } from '../../api';
import { ActionButton } from '../../actions/action-button';
import { rollBack } from '../../actions/request-actions';
import { Badge } from '../../ui/badge';
import { changesBetween } from '../../ui/changes';
import { CopyJson } from '../../ui/copy';
import { formatDuration } from '../../ui/duration';
import { Go, paths, RequestLink, useFilters, useParam } from '../../ui/links';
import { Pager } from '../../ui/pager';
import { Changes } from '../../ui/plan';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Marked } from '../../ui/time';
import { counted, inWords } from '../../ui/words';
import { LastLines } from '../task/last-lines';
import { changed, instance, log, machine, started, state } from '../tasks/history-columns';
import { Heading } from '../../ui/heading';
import { Gates } from './gates';

const PAGE = 10;
const OTHERS = 50;

export function Page() {
  const requestId = useParam('requestId');
  const deployId = useParam('deployId');
  const read = useRead(['request', requestId, 'deploy', deployId], () =>
    orNone(muster.history.deploy({ requestId, deployId })),
  );
  const parent = useRead(['request', requestId, 'parent'], () => orNone(muster.requests.get({ requestId })));
  return (
    <Panel of={read}>
      {(deploy) =>
        deploy === null ? (
          <>
            <Heading>Not found</Heading>
            <p>
              <RequestLink id={requestId} /> has no deploy {deployId}.
            </p>
          </>
        ) : (
          <Known deploy={deploy} parent={parent.data ?? undefined} />
        )
      }
    </Panel>
  );
}

function Known({ deploy, parent }: { deploy: DeployHistory; parent: RequestParent | undefined }) {
  const { requestId, deployId } = deploy.deployMarker;
  const result = deploy.deployResult;
  const active = parent?.requestDeployState?.activeDeploy?.deployId;
  return (
    <>
      <div className="head">
        <Heading>Deploy {deployId}</Heading>
        <RequestLink id={requestId} />
        <Badge of="deploy" state={result?.deployState ?? 'WAITING'} />
        <span>
          <Marked {...deploy.deployMarker} />
        </span>
        <span className="grow" />
        {parent && deployId !== active && parent.pendingDeploy === undefined && (
          <ActionButton action={rollBack(parent, deployId)} label="Roll back to this" />
        )}
        <Go to={`${paths.request(requestId)}/deploy`} search={{ from: deployId }} className="button">
          Deploy from this
        </Go>
        <CopyJson value={deploy.deploy} what="The deploy" />
      </div>
      {result === undefined && deploy.waitsBecause !== undefined && (
        <p className="notice busy">{deploy.waitsBecause}</p>
      )}
      {result && result.deployState !== 'SUCCEEDED' && (
        <section className="notice bad" aria-label="Why it failed">
          <p>{result.message}</p>
          <ul>
            {result.deployFailures.map(({ reason, taskId, message: text }, index) => (
              // Failures have no id, and their list does not change any more.
              <li key={index}>
                {inWords(reason)}
                {taskId && (
                  <>
                    {' '}
                    of <Go to={paths.task(taskId.id)}>instance {taskId.instanceNo}</Go>
                  </>
                )}
                {text !== undefined && `: ${text}`}
                {index === 0 && taskId && <LastLines taskId={taskId.id} file="stderr" />}
              </li>
            ))}
          </ul>
        </section>
      )}
      <Gates deploy={deploy} />
      <Statistics deploy={deploy} />
      <h2>What changed</h2>
      <Compare deploy={deploy} />
      <h2>Running</h2>
      <Active requestId={requestId} deployId={deployId} />
      <h2>Ended</h2>
      <Ended requestId={requestId} deployId={deployId} />
      <h2>Document</h2>
      <pre className="document">{JSON.stringify(deploy.deploy, null, 2)}</pre>
    </>
  );
}

function Statistics({ deploy: { deployStatistics } }: { deploy: DeployHistory }) {
  if (!deployStatistics) return null;
  const { numTasks, numSuccess, numFailures, averageRuntimeMillis } = deployStatistics;
  return (
    <p>
      {counted(numTasks, 'task')}, {numSuccess} finished, {numFailures} failed
      {averageRuntimeMillis !== undefined && `, ${formatDuration(averageRuntimeMillis)} on average`}
    </p>
  );
}

/** Against the deploy before it, or any other that is chosen. */
function Compare({ deploy }: { deploy: DeployHistory }) {
  const { requestId, deployId, timestamp } = deploy.deployMarker;
  const [{ against }, setFilters] = useFilters();
  const others = useRead(['request', requestId, 'deploys', 'ids'], () =>
    muster.history.deploys({ requestId, count: OTHERS }),
  );
  const ids = (others.data ?? []).map(({ deployMarker }) => deployMarker).filter((each) => each.deployId !== deployId);
  const chosen = against ?? ids.find((each) => each.timestamp < timestamp)?.deployId;
  const other = useRead(
    ['request', requestId, 'deploy', chosen ?? ''],
    () => muster.history.deploy({ requestId, deployId: chosen ?? '' }),
    {
      enabled: chosen !== undefined,
    },
  );
  if (chosen === undefined) return <p className="faint">There is no deploy before it.</p>;
  return (
    <>
      <label>
        Against{' '}
        <select value={chosen} onChange={(event) => setFilters({ against: event.target.value })}>
          {ids.map((each) => (
            <option key={each.deployId} value={each.deployId}>
              {each.deployId}
            </option>
          ))}
        </select>
      </label>
      <Panel of={other}>
        {(before) => <Changes changes={changesBetween(before.deploy ?? {}, deploy.deploy ?? {})} />}
      </Panel>
    </>
  );
}

const columns: readonly Column<TaskIdHistory>[] = [instance, state, machine, started, changed, log];

function Active({ requestId, deployId }: { requestId: string; deployId: string }) {
  const read = useRead(['request', requestId, 'deploy', deployId, 'active'], () =>
    muster.history.activeTasksOfDeploy({ requestId, deployId }),
  );
  return (
    <Panel of={read}>
      {(tasks) => (
        <Table
          label="Running tasks"
          rows={tasks}
          columns={columns}
          keyOf={({ taskId }) => taskId.id}
          empty="No task of it runs."
        />
      )}
    </Panel>
  );
}

function Ended({ requestId, deployId }: { requestId: string; deployId: string }) {
  const [page, setPage] = useState(1);
  const read = useRead(
    ['request', requestId, 'deploy', deployId, 'ended', page],
    () => muster.history.endedTasksOfDeployPage({ requestId, deployId, count: PAGE, page }),
    { isPaged: true },
  );
  return (
    <Panel of={read}>
      {({ objects, pageCount }) => (
        <>
          <Table
            label="Ended tasks"
            rows={objects}
            columns={columns}
            keyOf={({ taskId }) => taskId.id}
            empty="No task of it has ended."
          />
          <Pager page={page} pageCount={pageCount} onPage={setPage} />
        </>
      )}
    </Panel>
  );
}
