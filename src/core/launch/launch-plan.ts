import { withSlash } from '../files/paths.js';
import { keyPatternOfTask, type UploadBounds, withinBounds } from '../logs/index.js';
import { hasContainer, type Deploy, type ExtendedResources, type SecretVariable } from '../model/deploy.js';
import { type ProgramSpec, defaultStepMillis, type DeployTasks, type StepTask } from '../model/deploy-tasks.js';
import type { LaunchSpec, LogUploads, ProgramOfLaunch, ProgramsOfLaunch } from '../model/launch.js';
import { instancesOf, type Request } from '../model/request.js';
import type { PendingTask, TaskId } from '../model/task.js';
import { type GraceRules, graceMillis, preStopMillis } from './grace.js';
import { containerOfTask, withPorts } from './container.js';
import { type LaunchPlace, placeholders } from './placeholders.js';
import { runVariables } from './run-variables.js';

/** Decisions about one task. */
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
  needed: { cpus: number; memoryMb: number; diskMb: number; extended?: ExtendedResources };
}

export interface LaunchRules extends GraceRules {
  /** Whole cores beyond which no task gets; absent: no hard limit. */
  cpuHardLimit?: number;
  cpuHardLimitScaleFactor: number;
  /** Lets an executor's runningSentinel stand in for a health file. */
  honorRunningSentinel?: boolean;
  /** Ports of a bridged container without mappings are mapped to themselves. */
  defaultPortMapping?: boolean;
  /** Absent: there is no object store. */
  uploads?: UploadRules;
}

/** Files to upload of every task, and their buckets. */
export interface UploadRules extends UploadBounds {
  /** By group of a request. */
  groupBuckets: Readonly<Record<string, string>>;
  storageClass?: string;
  applyStorageClassAfterBytes?: number;
}

/** A group is a text of callers: only what the settings hold counts, nothing that every object has. */
const bucketOfGroup = (buckets: UploadRules['groupBuckets'], group: string | undefined): string | undefined =>
  group !== undefined && Object.hasOwn(buckets, group) ? buckets[group] : undefined;

/** Seconds for a task with a health file to write it, beside its retries. */
const healthFileBaseSeconds = 30;
const healthFileIntervalSeconds = 5;
const healthFileRetries = 6;

export function planLaunch(input: LaunchInput, rules: LaunchRules): LaunchSpec {
  const { taskId, place, request, deploy, pending, needed, own } = input;
  const { executorData } = deploy;
  const ports = input.ports.slice(0, own.numPorts);
  const secretEnvironment = secretVariables(deploy, pending);
  return {
    taskId: taskId.id,
    slaveId: place.slaveId,
    incarnation: place.incarnation,
    requestId: taskId.requestId,
    command: commandLine(deploy, pending),
    environment: withoutSecret(taskEnvironment({ taskId, place, request, deploy, pending, ports }), secretEnvironment),
    ...(secretEnvironment && { secretEnvironment }),
    ...(deploy.serviceAccount !== undefined && { serviceAccount: deploy.serviceAccount }),
    ...(request.group !== undefined && asksByGroup(deploy) && { group: request.group }),
    user: pending.runAsUserOverride ?? executorData?.user ?? deploy.user,
    cpus: needed.cpus,
    memoryMb: needed.memoryMb,
    diskMb: needed.diskMb,
    ...(needed.extended && { extended: needed.extended }),
    cpuHardLimit: hardLimit(own.cpus, rules),
    ports: [...input.ports],
    artifacts: [...(deploy.uris ?? []), ...(pending.extraArtifacts ?? [])],
    executorData,
    ...(deploy.containerInfo &&
      hasContainer(deploy) && {
        container: withPorts(containerOfTask(input, deploy.containerInfo), ports, rules.defaultPortMapping),
      }),
    successfulExitCodes: executorData?.successfulExitCodes ?? [],
    killGraceMillis: graceMillis(deploy, rules),
    killSignal: deploy.killSignal,
    preStop: preStopOf(deploy, ports, graceMillis(deploy, rules)),
    ...(deploy.tasks && { programs: programsOf(deploy.tasks, placeholders(taskId, place)) }),
    healthcheckResultFile: healthFile(request, deploy, pending, rules),
    uploads: uploads(input, rules.uploads),
    ...(request.keepRuns && { keepSandboxes: request.keepRuns }),
  };
}

/** Settings may allow it to some groups only. */
const asksByGroup = (deploy: Deploy): boolean =>
  deploy.secretEnv !== undefined || deploy.serviceAccount !== undefined || hasContainer(deploy);

/** Those that the run does not override. */
function secretVariables({ secretEnv = [] }: Deploy, { envOverrides = {} }: PendingTask): SecretVariable[] | undefined {
  const left = secretEnv.filter(({ name }) => !Object.hasOwn(envOverrides, name));
  return left.length > 0 ? left : undefined;
}

function withoutSecret(environment: Record<string, string>, secret: SecretVariable[] | undefined) {
  for (const { name } of secret ?? []) delete environment[name];
  return environment;
}

/** Its files: those of every task, then those of the run, then those of the deploy. */
function uploads({ taskId, request, deploy, pending }: LaunchInput, rules?: UploadRules): LogUploads | undefined {
  const { group } = request;
  const asked = [...(pending.objstoreUploaderAdditionalFiles ?? []), ...(deploy.objstoreUploaderAdditionalFiles ?? [])];
  if (!rules && asked.length === 0) return undefined;
  const fill = (pattern: string) =>
    keyPatternOfTask(pattern, {
      requestId: taskId.requestId,
      group: group ?? 'default',
      tag: deploy.executorData?.loggingTag ?? '',
      deployId: taskId.deployId,
      host: taskId.sanitizedHost,
      taskId: taskId.id,
    });
  return {
    files: [...(rules?.files ?? []), ...asked.map((file) => (rules ? withinBounds(file, rules) : file))].map((file) =>
      file.objstoreUploaderKeyPattern === undefined
        ? file
        : { ...file, objstoreUploaderKeyPattern: fill(file.objstoreUploaderKeyPattern) },
    ),
    bucket: rules && (bucketOfGroup(rules.groupBuckets, group) ?? rules.bucket),
    keyPattern: rules && fill(rules.keyPattern),
    storageClass: rules?.storageClass,
    applyStorageClassAfterBytes: rules?.applyStorageClassAfterBytes,
  };
}

function preStopOf(deploy: Deploy, ports: readonly number[], grace: number): LaunchSpec['preStop'] {
  const { preStop } = deploy;
  if (!preStop) return undefined;
  const { command, http } = preStop;
  const port = http && ports[http.portIndex ?? 0];
  return {
    command,
    http: http && port !== undefined ? { uri: withSlash(http.uri), port } : undefined,
    timeoutMillis: preStopMillis(deploy, grace),
  };
}

function commandLine(
  deploy: Deploy,
  pending: Pick<PendingTask, 'cmdLineArgsList'>,
): { shell: boolean; value: string; arguments: string[] } {
  const ofRun = pending.cmdLineArgsList ?? [];
  const { executorData } = deploy;
  const words = [...(executorData?.extraCmdLineArgs ?? []), ...(deploy.arguments ?? []), ...ofRun];
  if (executorData) return { shell: true, value: executorData.cmd, arguments: words };
  // A command with arguments is a program; alone it is a line for the shell.
  const shell = deploy.shell ?? (words.length === 0 && !hasContainer(deploy));
  return { shell, value: deploy.command ?? '', arguments: words };
}

function programsOf(
  { init = [], sidecars = [], post = [] }: DeployTasks,
  fill: (text: string) => string,
): ProgramsOfLaunch {
  const program = ({ name, command, arguments: words = [], env }: ProgramSpec): ProgramOfLaunch => ({
    name,
    command: { shell: words.length === 0, value: command, arguments: words },
    environment: Object.fromEntries(Object.entries(env ?? {}).map(([key, value]) => [key, fill(value)])),
  });
  const step = ({ timeoutMillis = defaultStepMillis, ...task }: StepTask) => ({ ...program(task), timeoutMillis });
  return {
    init: init.map(step),
    sidecars: sidecars.map(({ resources, ...task }) => ({
      ...program(task),
      cpus: resources?.cpus ?? 0,
      memoryMb: resources?.memoryMb ?? 0,
    })),
    post: post.map(step),
  };
}

const hardLimit = (cpus: number, { cpuHardLimit, cpuHardLimitScaleFactor }: LaunchRules): number | undefined =>
  cpuHardLimit === undefined ? undefined : Math.max(Math.ceil(cpus * cpuHardLimitScaleFactor), cpuHardLimit);

function healthFile(
  request: Request,
  { healthcheck, executorData }: Deploy,
  pending: PendingTask,
  { honorRunningSentinel }: LaunchRules,
): LaunchSpec['healthcheckResultFile'] {
  const sentinel = honorRunningSentinel ? executorData?.runningSentinel : undefined;
  const path = healthcheck?.healthcheckResultFilePath ?? sentinel;
  if (path === undefined || request.skipHealthchecks || pending.skipHealthchecks) return undefined;
  const intervalSeconds = healthcheck?.intervalSeconds ?? healthFileIntervalSeconds;
  const retries = healthcheck?.maxRetries ?? healthFileRetries;
  return { path, intervalSeconds, timeoutSeconds: healthFileBaseSeconds + intervalSeconds * retries };
}

interface EnvironmentParts {
  taskId: TaskId;
  place: LaunchPlace;
  request: Request;
  deploy: Deploy;
  pending: PendingTask;
  /** Assigned ports, without literal host ports. */
  ports: readonly number[];
}

/** A variable given as null is left out, also where an earlier line set it. */
type Variables = Record<string, string | null | undefined>;

/** The environment of a task. Later lines win; the user who started it cannot be overridden. */
function taskEnvironment(parts: EnvironmentParts): Record<string, string> {
  const { taskId, place, request, deploy, pending, ports } = parts;
  const fill = placeholders(taskId, place);
  const layers: Variables[] = [
    {
      INSTANCE_NO: String(taskId.instanceNo),
      TASK_HOST: place.hostname,
      TASK_RACK_ID: place.rackId,
      AVAILABILITY_ZONE: place.rackId,
      TASK_REQUEST_ID: taskId.requestId,
      TASK_DEPLOY_ID: taskId.deployId,
      TASK_ID: taskId.id,
      ESTIMATED_INSTANCE_COUNT: String(instancesOf(request)),
    },
    runVariables(parts),
    filled(deploy.env, fill),
    filled(deploy.taskEnv?.[taskId.instanceNo], fill),
    portVariables(ports),
    overriddenResources(pending),
    pending.envOverrides ?? {},
    pending.user === undefined ? {} : { STARTED_BY_USER: pending.user },
  ];
  const all = new Map<string, string>();
  for (const layer of layers) {
    for (const name in layer) {
      const value = layer[name];
      if (value == null) all.delete(name);
      else all.set(name, value);
    }
  }
  return Object.fromEntries(all);
}

function filled(variables: Variables | undefined, fill: (text: string) => string): Variables {
  // Most values hold no placeholder, and each task of each launch comes by here.
  const filledIn = Object.entries(variables ?? {}).map(([name, value]) => [
    name,
    value?.includes('${') ? fill(value) : value,
  ]);
  return Object.fromEntries(filledIn) as Variables;
}

const portVariables = (ports: readonly number[]): Variables =>
  ports.length === 0
    ? {}
    : { PORT: String(ports[0]), ...Object.fromEntries(ports.map((port, index) => [`PORT${index}`, String(port)])) };

function overriddenResources({ resources }: PendingTask): Variables {
  const cpus = Math.trunc(resources?.cpus ?? 0);
  const memory = Math.trunc(resources?.memoryMb ?? 0);
  return {
    ...(resources?.cpus ? { DEPLOY_CPUS: String(cpus) } : {}),
    ...(resources?.memoryMb ? { DEPLOY_MEM: String(memory) } : {}),
  };
}
