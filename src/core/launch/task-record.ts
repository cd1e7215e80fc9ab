import { hasContainer, type ClusterTaskLabel } from '../model/deploy.js';
import type { LaunchSpec } from '../model/launch.js';
import type { ClusterOfferObject, ClusterResourceObject, ClusterTaskObject, PendingTask, Task } from '../model/task.js';
import { containerOfTask } from './container.js';
import type { LaunchInput } from './launch-plan.js';

/** Decisions about a task that its machine does not need. */
export type LaunchDecision = Pick<LaunchInput, 'taskId' | 'place' | 'request' | 'deploy' | 'pending'>;
type LaunchSubject = Pick<LaunchDecision, 'taskId' | 'place' | 'deploy'>;
export type LaunchRecord = Omit<Task, 'taskRequest'>;

/** Fields of a deploy that the records of its tasks do without, unless these are whole: they stand in the deploy and in the launch. */
export const leftOutOfTasks = (isWhole: boolean): readonly 'executorData'[] => (isWhole ? [] : ['executorData']);

/** The Task record that answers show. */
export function taskRecord(input: LaunchDecision, plan: LaunchSpec, isWhole = false): Task {
  const deploy = { ...input.deploy };
  for (const field of leftOutOfTasks(isWhole)) delete deploy[field];
  return { taskRequest: { request: input.request, deploy, pendingTask: input.pending }, ...launchRecord(input, plan) };
}

/** The part of a Task record that says where the task went and as what, beside what it was launched for. */
export function launchRecord(input: LaunchSubject, plan: LaunchSpec): LaunchRecord {
  const offers = [offer(input)];
  return {
    taskId: input.taskId,
    offer: offers[0],
    offers,
    clusterTask: clusterTask(input, plan),
    rackId: input.place.rackId,
  };
}

/** Text of a task's TASK_LAUNCHED update: why, by whom, what for. */
export const launchedText = ({ pendingTaskId, user, message }: PendingTask): string =>
  `${pendingTaskId.pendingType}${user ? ` by ${user}` : ''}${message ? ` - ${message}` : ''}`;

/** There are no offers here; the machine stands in the form in which clients look for it. */
const offer = ({ place }: LaunchSubject): ClusterOfferObject => ({
  agentId: { value: place.slaveId },
  slaveId: { value: place.slaveId },
  frameworkId: { value: 'muster' },
  hostname: place.hostname,
  id: { value: place.incarnation },
});

function clusterTask(input: LaunchSubject, plan: LaunchSpec): ClusterTaskObject {
  const { taskId, place, deploy } = input;
  const variables = Object.entries(plan.environment).map(([name, value]) => ({ name, value }));
  const { value, shell, arguments: words } = plan.command;
  return {
    taskId: { value: taskId.id },
    ...(deploy.customExecutorCmd !== undefined && {
      executor: { executorId: { value: deploy.customExecutorId ?? taskId.id } },
    }),
    labels: { labels: labelsOf(input) },
    agentId: { value: place.slaveId },
    slaveId: { value: place.slaveId },
    resources: resourcesOf(plan),
    name: taskId.requestId,
    command: { uris: plan.artifacts, environment: { variables }, value, arguments: words, shell, user: plan.user },
    ...(deploy.containerInfo &&
      hasContainer(deploy) && { container: { ...containerOfTask(input, deploy.containerInfo) } }),
  };
}

function labelsOf({ deploy, taskId }: LaunchSubject): { key: string; value: string }[] {
  const labels: ClusterTaskLabel[] = [
    ...(deploy.clusterLabels ?? []),
    ...(deploy.clusterTaskLabels?.[taskId.instanceNo] ?? []),
  ];
  return labels.map(({ key = '', value = '' }) => ({ key, value }));
}

function resourcesOf({ ports, cpus, memoryMb, diskMb, extended = {} }: LaunchSpec): ClusterResourceObject[] {
  const scalar = (name: string, value: number): ClusterResourceObject[] =>
    value > 0 ? [{ name, type: 'SCALAR', scalar: { value } }] : [];
  const ranges = portRanges(ports);
  return [
    ...(ranges.length > 0 ? [{ name: 'ports', type: 'RANGES' as const, ranges: { range: ranges } }] : []),
    ...scalar('cpus', cpus),
    ...scalar('mem', memoryMb),
    ...scalar('disk', diskMb),
    ...Object.entries(extended).flatMap(([name, count]) => scalar(name, count)),
  ];
}

function portRanges(ports: readonly number[]): { begin: number; end: number }[] {
  const ranges: { begin: number; end: number }[] = [];
  for (const port of ports.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && port === last.end + 1) last.end = port;
    else ranges.push({ begin: port, end: port });
  }
  return ranges;
}
