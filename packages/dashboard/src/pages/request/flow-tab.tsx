import type { FlowRequest, RequestFlow } from 'muster-client';
import { muster } from '../../api';
import { Badge } from '../../ui/badge';
import { FlowLink, Go, paths, RequestLink } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Steps } from '../../ui/steps-view';
import { Time } from '../../ui/time';
import { requestTypes } from '../../ui/words';

const conditions = { SUCCESS: 'success', FAILURE: 'failure', END: 'any end' } as const;

/** Who follows whom around a request, each with its newest run in a flow. */
export function FlowTab({ requestId }: { requestId: string }) {
  const read = useRead(['flows', 'around', requestId], () => muster.flows.ofRequest({ requestId }));
  return (
    <Panel of={read}>
      {(found) =>
        found.edges.length === 0 ? (
          <p className="empty">
            It follows no other request, and none follows it. The requests that a job follows are written in its form.
          </p>
        ) : (
          <Around requestId={requestId} found={found} />
        )
      }
    </Panel>
  );
}

function Around({ requestId, found: { requests, edges, isComplete } }: { requestId: string; found: RequestFlow }) {
  const edgesTo = (id: string) => edges.filter((edge) => edge.requestId === id);
  return (
    <>
      {!isComplete && <p className="notice warn">More requests are connected with it than are shown.</p>}
      <Steps
        label="Requests in steps"
        nodes={requests}
        idOf={({ requestId: id }) => id}
        parentsOf={({ requestId: id }) => edgesTo(id).map(({ parentId }) => parentId)}
      >
        {(request) => (
          <Follower request={request} isHere={request.requestId === requestId} edges={edgesTo(request.requestId)} />
        )}
      </Steps>
    </>
  );
}

function Follower(props: { request: FlowRequest; isHere: boolean; edges: RequestFlow['edges'] }) {
  const { requestId, requestType, state, lastRun } = props.request;
  return (
    <>
      <p>
        {props.isHere ? <strong aria-current="true">{requestId}</strong> : <RequestLink id={requestId} />}{' '}
        <span className="faint">{requestTypes[requestType] ?? requestType}</span>
      </p>
      {state !== 'ACTIVE' && (
        <p>
          <Badge of="request" state={state} />
        </p>
      )}
      {props.edges.length > 0 && (
        <p className="faint">
          after {props.edges.map(({ parentId, on }) => `${conditions[on]} of ${parentId}`).join(', ')}
        </p>
      )}
      {lastRun ? (
        <p>
          <Badge of="run of a flow" state={lastRun.state} /> <Time at={lastRun.endedAt ?? lastRun.createdAt} />{' '}
          <FlowLink id={lastRun.flowId} />{' '}
          {lastRun.taskId !== undefined && <Go to={paths.task(lastRun.taskId)}>task</Go>}
        </p>
      ) : (
        <p className="faint">No run in a flow yet</p>
      )}
    </>
  );
}
