import { begunAt, deploySettings, deployTask, deployTasks } from '../deploys/deploys.fixtures.js';
import type { WorkRules } from '../pending-work/index.js';
import { planDeploy, type DeployToPlan, type PlannedStep, type PlanTask, type ScaleToPlan } from './index.js';

export const workRules: WorkRules = {
  cooldownMinScheduleMillis: 60_000,
  rebalanceRacksOnScaleDown: false,
  rackCount: 1,
  attributesOf: () => ({}),
};

const standing = { slaveId: 's1', rackId: 'r' };

export const planTask = (deployId: string, instanceNo: number, changes: Partial<PlanTask> = {}): PlanTask => ({
  ...deployTask(deployId, instanceNo),
  ...standing,
  ...changes,
});

/** Instances 1 to `count` of a deploy. */
export const planTasks = (deployId: string, count: number): PlanTask[] =>
  deployTasks(deployId, count).map((task) => ({ ...task, ...standing }));

/** Deploy v2 of a service of three instances, in the place of v1. */
export const deployToPlan = (changes: Partial<DeployToPlan> = {}): DeployToPlan => ({
  request: { id: 'web', requestType: 'SERVICE', instances: 3 },
  state: 'ACTIVE',
  deploy: { requestId: 'web', id: 'v2', command: 'serve' },
  activeDeployId: 'v1',
  tasks: planTasks('v1', 3),
  pendingTaskCount: 0,
  settings: deploySettings,
  rules: workRules,
  ...changes,
});

/** Three instances of v1. */
export const scaleToPlan = (instances: number, changes: Partial<ScaleToPlan> = {}): ScaleToPlan => {
  const request = { id: 'web', requestType: 'SERVICE' as const, instances: 3 };
  return {
    waiting: { request, state: 'ACTIVE', activeDeployId: 'v1' },
    next: { ...request, instances },
    tasks: planTasks('v1', 3),
    failingFast: false,
    rules: workRules,
    ...changes,
  };
};

export const plannedAt = begunAt + 60_000;

/** Instance numbers of what starts; deploy, number and reason of what goes. */
export const brief = ({ start, stop, ...rest }: PlannedStep) => ({
  start: start.map(({ pendingTaskId }) => pendingTaskId.instanceNo),
  stop: stop.map(({ taskId, cleanupType }) => `${taskId.deployId}/${taskId.instanceNo} ${cleanupType}`),
  ...rest,
});

/** The whole plan of a deploy. */
export function stepsOf(planned: DeployToPlan): PlannedStep[] {
  const plan = planDeploy(planned, plannedAt);
  for (;;) {
    const { done, value } = plan.next();
    if (done) return value;
  }
}
