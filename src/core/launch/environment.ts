import type { Deploy } from '../model/deploy.js';
import type { Request } from '../model/request.js';
import type { PendingTask, TaskId } from '../model/task.js';

export interface LaunchPlace {
  slaveId: string;
  incarnation: string;
  /** Not sanitized. */
  hostname: string;
  rackId: string;
}

export interface EnvironmentParts {
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
export function taskEnvironment(parts: EnvironmentParts): Record<string, string> {
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
      ESTIMATED_INSTANCE_COUNT: String(request.instances ?? 1),
    },
    filled(deploy.env, fill),
    filled(deploy.taskEnv?.[taskId.instanceNo], fill),
    portVariables(ports),
    overriddenResources(pending),
    pending.envOverrides ?? {},
    pending.user === undefined ? {} : { STARTED_BY_USER: pending.user },
  ];
  const all: Record<string, string> = {};
  for (const layer of layers) {
    for (const name in layer) {
      const value = layer[name];
      if (value == null) delete all[name];
      else all[name] = value;
    }
  }
  return all;
}

/** Fills `${TASK_ID}` and the like in values of a deploy. Others are left for the shell. */
export function placeholders(taskId: TaskId, place: LaunchPlace): (text: string) => string {
  const values: Record<string, string> = {
    TASK_REQUEST_ID: taskId.requestId,
    TASK_DEPLOY_ID: taskId.deployId,
    TASK_STARTED_AT: String(taskId.startedAt),
    TASK_INSTANCE_NO: String(taskId.instanceNo),
    TASK_HOST: place.hostname,
    TASK_RACK_ID: place.rackId,
    TASK_ID: taskId.id,
  };
  return (text) => text.replace(/\$\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

function filled(variables: Variables | undefined, fill: (text: string) => string): Variables {
  const result: Variables = {};
  for (const name in variables) {
    const value = variables[name];
    // Most values hold no placeholder, and each task of each launch comes by here.
    result[name] = value?.includes('${') ? fill(value) : value;
  }
  return result;
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
