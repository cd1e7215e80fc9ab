import type { DeployPlan, FieldChange, PlannedStep, ScalePlan } from 'muster-client';
import type { Output } from '../output/output.js';
import { plain } from '../../core/terminal-text.js';
import { shownDuration } from '../words.js';

/** Prints the changes of a plan, the tasks that would start and go, and if there is room for them. */
export function tellPlan(out: Output, plan: DeployPlan | ScalePlan): void {
  out.text(
    'deployId' in plan
      ? `${plan.requestId}: ${plan.deployId}${plan.activeDeployId ? ` replaces ${plan.activeDeployId}` : ', its first deploy'}`
      : `${plan.requestId}: ${plan.from} to ${plan.to} instances`,
  );
  if ('deployId' in plan && plan.deployStrategy === 'OLD_FIRST') {
    out.line(`  ends old tasks first (OLD_FIRST), at most ${plan.maxUnavailable} at a time`);
  }
  for (const change of plan.changes) tellChange(out, change);
  if (plan.changes.length === 0) out.line('  nothing changes');
  if ('autoscale' in plan && plan.autoscale !== undefined) out.text(`  ${plan.autoscale}`);
  plan.steps.forEach((step, index) => tellStep(out, step, index + 1));
  if ('leastMillis' in plan && plan.leastMillis !== undefined)
    out.text(`waits and gates take at least ${shownDuration(plan.leastMillis)}`);
  const fits = plan.fits ? out.paint('green', 'everything fits') : out.paint('red', 'not everything fits');
  out.line(`${plan.starting} to start, ${plan.stopping} to stop: ${fits}`);
  out.text(`check index: ${plan.checkIndex}`);
}

function tellChange(out: Output, { path, from, to }: FieldChange): void {
  if (from !== undefined) out.line(out.paint('red', plain(`  - ${path}: ${JSON.stringify(from)}`)));
  if (to !== undefined) out.line(out.paint('green', plain(`  + ${path}: ${JSON.stringify(to)}`)));
}

function tellStep(
  out: Output,
  { start, stop, fits, waitMillis, waitsForUpdate, gates }: PlannedStep,
  number: number,
): void {
  const words = [
    ...(start.length > 0 ? [`starts instances ${start.map(({ instanceNo }) => instanceNo).join(', ')}`] : []),
    ...(stop.length > 0
      ? [`${start.length > 0 ? 'then stops' : 'stops'} ${stop.map(({ taskId }) => taskId.id).join(', ')}`]
      : []),
    ...(waitMillis === undefined ? [] : [`then waits ${shownDuration(waitMillis)}`]),
    ...(waitsForUpdate ? ['then waits for an update of the deploy'] : []),
    ...(gates ?? []).map(({ gate, type, leastMillis }) => {
      const least = leastMillis > 0 ? `, at least ${shownDuration(leastMillis)}` : '';
      return `then gate ${gate} (${type}${least})`;
    }),
  ];
  out.text(`  step ${number}: ${words.join(', ')}`);
  if (fits.fitting < fits.tasks) {
    out.text(`    ${fits.message}`);
    for (const { reason, slaves } of fits.rejections)
      out.text(`    ${slaves} ${slaves === 1 ? 'machine' : 'machines'}: ${reason}`);
  }
}
