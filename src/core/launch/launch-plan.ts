import type { ClusterArtifact, Deploy, ExecutorData } from '../model/deploy.js';
import type { Request } from '../model/request.js';
import type { PendingTask, TaskId } from '../model/task.js';
import { taskEnvironment, type LaunchPlace } from './environment.js';

/** Everything a machine is told to run one task; what the driver sends. */
export interface LaunchPlan {
  taskId: string;
  slaveId: string;
  incarnation: string;
  requestId: string;
  command: { shell: boolean; value: string; arguments: string[] };
  environment: Record<string, string>;
  user?: string;
  cpus: number;
  memoryMb: number;
  diskMb: number;
  cpuHardLimit?: number;
  ports: number[];
  artifacts: ClusterArtifact[];
  executorData?: ExecutorData;
  successfulExitCodes: number[];
  killGraceMillis: number;
  healthcheckResultFile?: { path: string; intervalSeconds: number; timeoutSeconds: number };
}

/** What was decided about one task. */
export interface LaunchInput {
  taskId: TaskId;
  place: LaunchPlace;
  /** As the task carries it. */
  request: Request;
  deploy: Deploy;
  pending: PendingTask;
  /** Assigned ports first, then literal host ports of its container. */
  ports: readonly number[];
  /** Its own resources, and those together with what its executor needs. */
  own: { cpus: number; memoryMb: number; diskMb: number; numPorts: number };
  needed: { cpus: number; memoryMb: number; diskMb: number };
}

export interface LaunchRules {
  killGraceMillis: number;
  /** Whole cores beyond which no task gets; absent: no hard limit. */
  cpuHardLimit?: number;
  cpuHardLimitScaleFactor: number;
}

/** How long a task with a health file may take to write it, beside its retries. */
const healthFileBaseSeconds = 30;
const healthFileIntervalSeconds = 5;
const healthFileRetries = 6;

export function planLaunch(input: LaunchInput, rules: LaunchRules): LaunchPlan {
  const { taskId, place, request, deploy, pending, needed, own } = input;
  const { executorData } = deploy;
  const ports = input.ports.slice(0, own.numPorts);
  const extras = pending.extraArtifacts ?? [];
  return {
    taskId: taskId.id,
    slaveId: place.slaveId,
    incarnation: place.incarnation,
    requestId: taskId.requestId,
    command: commandLine(deploy, pending),
    environment: taskEnvironment({ taskId, place, request, deploy, pending, ports }),
    user: pending.runAsUserOverride ?? executorData?.user ?? deploy.user,
    cpus: needed.cpus,
    memoryMb: needed.memoryMb,
    diskMb: needed.diskMb,
    cpuHardLimit: hardLimit(own.cpus, rules),
    ports: [...input.ports],
    // An executor brings the artifacts of its deploy itself.
    artifacts: executorData ? extras : [...(deploy.uris ?? []), ...extras],
    executorData,
    successfulExitCodes: executorData?.successfulExitCodes ?? [],
    killGraceMillis: executorData?.sigKillProcessesAfterMillis ?? rules.killGraceMillis,
    healthcheckResultFile: healthFile(request, deploy, pending),
  };
}

function commandLine(
  deploy: Deploy,
  pending: Pick<PendingTask, 'cmdLineArgsList'>,
): { shell: boolean; value: string; arguments: string[] } {
  const ofRun = pending.cmdLineArgsList ?? [];
  if (deploy.executorData) {
    const words = [...(deploy.executorData.extraCmdLineArgs ?? []), ...ofRun];
    return { shell: true, value: deploy.executorData.cmd, arguments: words };
  }
  const words = [...(deploy.arguments ?? []), ...ofRun];
  // A command with arguments is a program; alone it is a line for the shell.
  const shell = deploy.shell ?? (words.length === 0 && deploy.containerInfo === undefined);
  return { shell, value: deploy.command ?? '', arguments: words };
}

const hardLimit = (cpus: number, { cpuHardLimit, cpuHardLimitScaleFactor }: LaunchRules): number | undefined =>
  cpuHardLimit === undefined ? undefined : Math.max(Math.ceil(cpus * cpuHardLimitScaleFactor), cpuHardLimit);

function healthFile(
  request: Request,
  { healthcheck }: Deploy,
  pending: PendingTask,
): LaunchPlan['healthcheckResultFile'] {
  const path = healthcheck?.healthcheckResultFilePath;
  if (path === undefined || request.skipHealthchecks || pending.skipHealthchecks) return undefined;
  const intervalSeconds = healthcheck?.intervalSeconds ?? healthFileIntervalSeconds;
  const retries = healthcheck?.maxRetries ?? healthFileRetries;
  return { path, intervalSeconds, timeoutSeconds: healthFileBaseSeconds + intervalSeconds * retries };
}
