import { endDeploy } from './ending.js';
import type { CanaryRollout, DeployStep } from './step-types.js';
import { type DeployTask, isStaying, newActive, unsuccessful } from './view.js';
import { judgeGates } from '../gates/index.js';
import type { DeployGate } from '../model/gate.js';

/** The gates of a step that is launched and accepted. undefined: there are none, or all of them have passed. */
export function passGates(rollout: CanaryRollout, gates: readonly DeployGate[] | undefined): DeployStep | undefined {
  if (!gates) return undefined;
  const { view, progress, now } = rollout;
  const tasks = newActive(view).filter(isStaying);
  if (tasks.length < progress.targetActiveInstances) return launchAgain(rollout);
  const facts = { step: progress.step!, launchedAt: progress.timestamp, sick: sickText(tasks) };
  const verdict = judgeGates(gates, view.gates ?? [], facts, now);
  switch (verdict.kind) {
    case 'passed':
      return undefined;
    case 'change':
      return { kind: 'gate', row: verdict.row };
    case 'wait':
      return { kind: 'wait', checkAgainAt: verdict.checkAgainAt, scheduleMissing: false };
    case 'failed':
      return endDeploy(view, unsuccessful('FAILED', verdict.message), now);
  }
}

/** A task was lost that is forgiven: the one in its place becomes healthy, and enters the load balancer, as in any launch. */
const launchAgain = ({ progress, now }: CanaryRollout): DeployStep => ({
  kind: 'proceed',
  progress: { ...progress, stepLaunchComplete: false, timestamp: now },
  retire: [],
  schedule: ['NEW'],
});

function sickText(tasks: readonly DeployTask[]): string | undefined {
  const sick = tasks.find(({ isSick }) => isSick);
  return sick && `instance ${sick.taskId.instanceNo} fails its liveness checks`;
}
