import { muster } from '../api';
import { stepsOf } from '../ui/steps';
import { message, type Action } from './action';

/** Repeats the newest run of a request in a flow, and what follows it. */
export const rerunFlow = (flowId: string, requestId: string): Action => ({
  id: `rerun ${requestId}`,
  label: 'Run again from here',
  explains: `Repeats the newest run of ${requestId} in this flow, with its options. What follows it runs again, as after its first run.`,
  needs: { requestId, scope: 'WRITE' },
  fields: [message],
  plan: async () => <RunsAgain steps={await stepsFrom(requestId)} />,
  run: (values) => muster.flows.rerun({ flowId, body: { from: requestId, message: values.text('message') } }),
  done: `${requestId} runs again`,
  outdates: [['flows'], ['request', requestId]],
});

const RunsAgain = ({ steps }: { steps: readonly (readonly string[])[] }) => (
  <>
    <p>Runs again, one step after the other, as far as the ends are those that count:</p>
    <ol>
      {steps.map((step) => (
        <li key={step.join(' ')}>{step.join(', ')}</li>
      ))}
    </ol>
  </>
);

/** The request and all that follow it now, in steps. */
async function stepsFrom(requestId: string): Promise<readonly (readonly string[])[]> {
  const { edges } = await muster.flows.ofRequest({ requestId });
  const again = new Set([requestId]);
  // A set that grows while it is gone through: followers of followers are found, too.
  for (const id of again) for (const edge of edges) if (edge.parentId === id) again.add(edge.requestId);
  return stepsOf(
    [...again].sort(),
    (id) => id,
    (id) => (id === requestId ? [] : edges.filter((edge) => edge.requestId === id).map(({ parentId }) => parentId)),
  );
}
