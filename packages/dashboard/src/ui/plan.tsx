import type { DeployPlan, FieldChange, PlannedStep, ScalePlan } from 'muster-client';
import { formatDuration } from './duration';
import { Mark } from './badge';
import { inWords } from './words';
import { Rejections } from './explain';

export const ScalePlanView = ({ plan }: { plan: ScalePlan }) => (
  <>
    <p>
      From {plan.from} to {plan.to}: {plan.starting} start, {plan.stopping} stop.
    </p>
    {plan.autoscale !== undefined && <p>{plan.autoscale}</p>}
    <Steps steps={plan.steps} fits={plan.fits} />
  </>
);

export const DeployPlanView = ({ plan }: { plan: DeployPlan }) => (
  <>
    <p>
      {plan.activeDeployId === undefined ? 'First deploy' : `Against ${plan.activeDeployId}`}: {plan.starting} start,{' '}
      {plan.stopping} stop.
    </p>
    <Changes changes={plan.changes} />
    <Steps steps={plan.steps} fits={plan.fits} />
  </>
);

function Steps({ steps, fits }: { steps: readonly PlannedStep[]; fits: boolean }) {
  return (
    <>
      <Mark tone={fits ? 'good' : 'bad'}>{fits ? 'Fits now' : 'Does not fit now'}</Mark>
      <ol>
        {steps.map((step, index) => (
          // Steps have no id; their order is what they are.
          <li key={index}>
            {[
              step.start.length > 0 && `start ${step.start.map(({ instanceNo }) => `#${instanceNo}`).join(', ')}`,
              step.stop.length > 0 &&
                `stop ${step.stop.map(({ taskId }) => `#${taskId.instanceNo} of ${taskId.deployId}`).join(', ')}`,
              step.waitMillis !== undefined && step.waitMillis > 0 && `then wait ${formatDuration(step.waitMillis)}`,
              step.waitsForUpdate && 'then wait to be advanced',
              ...(step.gates ?? []).map(
                ({ gate, type, leastMillis }) =>
                  `then gate ${gate} (${inWords(type)}${leastMillis > 0 ? `, at least ${formatDuration(leastMillis)}` : ''})`,
              ),
            ]
              .filter(Boolean)
              .join('; ') || 'nothing changes'}
            {step.fits.fitting < step.fits.tasks && (
              <>
                <p>{step.fits.message}</p>
                <Rejections rejections={step.fits.rejections} />
              </>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}

const SHOWN = 200;

/** Field by field what is another value. Long values are folded. */
export function Changes({ changes }: { changes: readonly FieldChange[] }) {
  if (changes.length === 0) return <p className="faint">No field is another.</p>;
  return (
    <table className="changes">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">From</th>
          <th scope="col">To</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ path, from, to }) => (
          <tr key={path}>
            <th scope="row">
              <code>{path}</code>
            </th>
            <td>
              <Value value={from} mark="del" />
            </td>
            <td>
              <Value value={to} mark="ins" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Value({ value, mark: Change }: { value: unknown; mark: 'del' | 'ins' }) {
  if (value === undefined || value === null) return <span className="faint">–</span>;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= SHOWN) return <Change>{text}</Change>;
  return (
    <details>
      <summary>{text.slice(0, SHOWN)}…</summary>
      <Change>{text}</Change>
    </details>
  );
}

export const reasonWords = (reason: string): string => inWords(reason);
