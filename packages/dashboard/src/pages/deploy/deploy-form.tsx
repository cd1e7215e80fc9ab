import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import type { Deploy, RequestParent } from 'muster-client';
import { muster } from '../../api';
import { useAnswer } from '../../forms/answer';
import { useDraft } from '../../forms/draft';
import { DocumentForm } from '../../forms/document-form';
import type { Document } from '../../forms/document';
import { deployGroups } from '../../forms/deploy-fields';
import { nextId } from '../../forms/next-id';
import { problemsOf } from '../../forms/problems';
import { isLargeScaleDown } from '../../actions/large-scale-down';
import { Go, paths, useFilters, useParam } from '../../ui/links';
import { DeployPlanView } from '../../ui/plan';
import { Failure, Loading, Panel, useRead } from '../../ui/read';
import { toast } from '../../ui/toasts';
import { Heading } from '../../ui/heading';

/** A new version, written from the active one or an earlier one, with what it would do beside it. */
export function Page() {
  const requestId = useParam('requestId');
  const [{ from }] = useFilters();
  const read = useRead(['request', requestId, 'to-deploy', from ?? ''], async () => {
    const parent = await muster.requests.get({ requestId });
    const source =
      from === undefined ? parent.activeDeploy : (await muster.history.deploy({ requestId, deployId: from })).deploy;
    return { parent, source };
  });
  return (
    <Panel of={read}>
      {({ parent, source }) => (
        <Form key={`${requestId} ${from ?? ''}`} parent={parent} begin={beginOf(requestId, source)} from={from} />
      )}
    </Panel>
  );
}

/** What each deploy has of its own is not taken over. */
function beginOf(requestId: string, source: Deploy | undefined): Document {
  if (!source) return { requestId, id: '1', command: '' };
  const { timestamp: _timestamp, user: _user, ...rest } = source;
  return { ...rest, id: nextId(source.id ?? '') };
}

function Form({ parent, begin, from }: { parent: RequestParent; begin: Document; from: string | undefined }) {
  const requestId = parent.request.id;
  const [document, setDocument, discard] = useDraft(`deploy.${requestId}.${from ?? ''}`, begin);
  const [message, setMessage] = useState('');
  const [unpauses, setUnpauses] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const planned = useAnswer(document, () =>
    muster.deploys.plan({ body: { deploy: document as Deploy }, largeScaleDownAcknowledged: true }),
  );
  const plan = planned.value;
  const navigate = useNavigate();

  async function deploy(event: React.FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    try {
      const body = {
        deploy: document as Deploy,
        ...(message !== '' && { message }),
        ...(unpauses && { unpauseOnSuccessfulDeploy: true }),
      };
      const acknowledged =
        plan && isLargeScaleDown(plan.stopping, plan.starting) ? { largeScaleDownAcknowledged: true } : {};
      await muster.deploys.start({ body, ...(plan && { checkIndex: plan.checkIndex }), ...acknowledged });
      discard();
      toast.add({ title: `${String(document['id'])} of ${requestId} is being deployed` });
      void navigate({ to: paths.request(requestId) });
    } catch (cause) {
      setFailure(cause);
    } finally {
      setBusy(false);
    }
  }

  const problems = { ...problemsOf(planned.failure, 'deploy'), ...problemsOf(failure, 'deploy') };
  return (
    <form className="document-form beside" onSubmit={(event) => void deploy(event)}>
      <div>
        <Heading>Deploy {requestId}</Heading>
        <DocumentForm document={document} onChange={setDocument} groups={deployGroups} problems={problems} />
      </div>
      <aside className="plan" aria-label="What would happen" aria-live="polite">
        <h2>What would happen</h2>
        {plan === undefined && planned.failure === undefined && <Loading />}
        {plan && <DeployPlanView plan={plan} />}
        {planned.failure !== undefined && <Failure cause={planned.failure} />}
        <label className="field">
          <span>Message</span>
          <input value={message} onChange={(event) => setMessage(event.target.value)} />
        </label>
        {parent.state === 'PAUSED' && (
          <label className="check">
            <input type="checkbox" checked={unpauses} onChange={(event) => setUnpauses(event.target.checked)} /> Unpause
            when it has succeeded
          </label>
        )}
        {failure !== undefined && <Failure cause={failure} />}
        <div className="buttons">
          <button type="submit" className="primary" disabled={busy}>
            Deploy
          </button>
          <button type="button" onClick={discard}>
            Discard changes
          </button>
          <Go to={paths.request(requestId)}>Cancel</Go>
        </div>
      </aside>
    </form>
  );
}
