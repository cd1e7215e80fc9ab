import { useEffect } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { muster } from '../../api';
import { paths, RequestLink, useParam } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Heading } from '../../ui/heading';

/** Leads to the task that runs as this instance. */
export function Page() {
  const requestId = useParam('requestId');
  const instanceNo = Number(useParam('instanceNo'));
  const navigate = useNavigate();
  const active = useRead(['request', requestId, 'active', 'ids'], () =>
    muster.history.activeTasksOfRequest({ requestId }),
  );
  const task = active.data?.find(({ taskId }) => taskId.instanceNo === instanceNo);
  useEffect(() => {
    if (task) void navigate({ to: paths.task(task.taskId.id), replace: true });
  }, [task, navigate]);
  return (
    <>
      <Heading>
        {requestId} #{instanceNo}
      </Heading>
      <Panel of={active}>
        {() =>
          !task && (
            <p>
              No task runs as instance {instanceNo}. <RequestLink id={requestId} />
            </p>
          )
        }
      </Panel>
    </>
  );
}
