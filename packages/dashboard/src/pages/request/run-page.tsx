import { useEffect } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { muster, orNone } from '../../api';
import { Explained } from '../../ui/explain';
import { paths, RequestLink, useFilters, useParam } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { logPathOf } from '../../view';
import { Heading } from '../../ui/heading';

/** After "run now": says why the run waits, and goes to its log or its files when there is a task. */
export function Page() {
  const requestId = useParam('requestId');
  const runId = useParam('runId');
  const [{ show }] = useFilters();
  const navigate = useNavigate();
  const run = useRead(['request', requestId, 'run', runId], () => orNone(muster.track.run({ requestId, runId })));
  const taskId = run.data?.taskId?.id;
  const pending = run.data?.pendingTaskId?.id;
  const why = useRead(
    ['tasks', 'explain', pending ?? ''],
    () => orNone(muster.tasks.explain({ pendingTaskId: pending ?? '' })),
    {
      enabled: pending !== undefined && taskId === undefined,
    },
  );
  useEffect(() => {
    if (taskId === undefined) return;
    const to = show === 'files' ? paths.files(taskId, '') : paths.tail(taskId, logPathOf(taskId, false));
    void navigate({ to, replace: true });
  }, [taskId, show, navigate]);
  return (
    <>
      <Heading>Run of {requestId}</Heading>
      <p>
        <RequestLink id={requestId} />, run {runId}
      </p>
      <Panel of={run}>
        {(found) => <p role="status">{found === null ? 'The run is not there yet.' : 'The run waits for its task.'}</p>}
      </Panel>
      {why.data && <Explained task={why.data} />}
    </>
  );
}
