import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

type Json = Record<string, unknown>;

/** A request of the simulated original, with what happened to it. */
export interface OriginalRequest {
  request: Json & { id: string };
  state: string;
  deploys: { id: string; result?: string; deploy?: Json }[];
  activeDeployId?: string;
  pendingDeployId?: string;
  /** Further members of the record of one request. */
  more?: Json;
  events: { createdAt: number; eventType: string; message?: string }[];
  /** Ids of ended tasks. */
  taskIds: string[];
  /** Ids of tasks that run. */
  activeTaskIds: string[];
  /** Reasons for which runs are planned. A pause drops them. */
  planned: string[];
}

export interface SimulatedOriginal {
  /** As an operator would give it. */
  url: string;
  requests: OriginalRequest[];
  lists: Record<string, unknown[] | undefined>;
  /** Paths asked for, in their order. */
  calls: string[];
  /** The most that were answered at the same time. */
  mostAtOnce: number;
  /** Header that every call has to have. */
  authorization?: string;
  /** Its time. */
  clock: () => number;
  /** Answers in place of the usual ones; false: the usual one. */
  intercept?: (path: string, response: ServerResponse) => boolean;
  close(): Promise<void>;
}

export const startedAt = Date.UTC(2026, 0, 5, 12);

/** A request that has been there for a while. */
export function originalRequest(id: string, given: Partial<OriginalRequest> & { type?: string } = {}): OriginalRequest {
  const { type = 'SERVICE', ...rest } = given;
  return {
    request: {
      id,
      requestType: type,
      ...(type === 'SCHEDULED' ? { schedule: '*/5 * * * *', scheduleType: 'CRON' } : {}),
    },
    state: 'ACTIVE',
    deploys: [{ id: 'd1', result: 'SUCCEEDED' }],
    activeDeployId: 'd1',
    events: [{ createdAt: startedAt, eventType: 'CREATED' }],
    taskIds: [1, 2].map((number) => taskIdOf(id, 'd1', number)),
    activeTaskIds: [],
    planned: [],
    ...rest,
  };
}

export const taskIdOf = (requestId: string, deployId: string, number: number): string =>
  `${requestId}-${deployId}-${startedAt + number}-1-host_1-rack1`;

/**
 * The API of version 1.5.0 over HTTP, as far as an import reads it: the shapes are those that it answers, with members under
 * both of their names and members that no other record has.
 */
export async function startOriginal(): Promise<SimulatedOriginal> {
  let atOnce = 0;
  const server = createServer((request, response) => {
    atOnce += 1;
    original.mostAtOnce = Math.max(original.mostAtOnce, atOnce);
    response.on('close', () => (atOnce -= 1));
    // In a later turn, so that calls that may overlap do.
    void (request.method === 'POST' ? json(request) : Promise.resolve({})).then((body) =>
      answer(original, request, response, body as Json),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const original: SimulatedOriginal = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/singularity`,
    requests: [],
    lists: {},
    calls: [],
    mostAtOnce: 0,
    clock: () => Date.now(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return original;
}

function answer(original: SimulatedOriginal, request: IncomingMessage, response: ServerResponse, body: Json): void {
  const url = new URL(request.url!, 'http://original');
  const path = decodeURIComponent(url.pathname.replace(/^\/singularity\/api\//, ''));
  original.calls.push(path);
  if (original.intercept?.(path, response)) return;
  if (original.authorization !== undefined && request.headers.authorization !== original.authorization) {
    response.writeHead(401).end();
    return;
  }
  const count = Number(url.searchParams.get('count') ?? 100);
  const first = (Number(url.searchParams.get('page') ?? 1) - 1) * count;
  const found = request.method === 'POST' ? pause(original, path, body) : read(original, path, [first, first + count]);
  if (found === undefined) response.writeHead(404, { 'content-type': 'text/html' }).end('<html></html>');
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found));
}

function pause(original: SimulatedOriginal, path: string, { message, killTasks }: Json): unknown {
  const [, id] = /^requests\/request\/([^/]+)\/pause$/.exec(path) ?? [];
  const found = original.requests.find(({ request }) => request.id === id);
  if (!found) return undefined;
  found.state = 'PAUSED';
  found.events.unshift({ createdAt: original.clock(), eventType: 'PAUSED', message: String(message) });
  found.planned = [];
  if (killTasks !== false) found.taskIds.push(...found.activeTaskIds.splice(0));
  return brief(found);
}

function read(original: SimulatedOriginal, path: string, page: [number, number]): unknown {
  if (path === 'requests' || path === 'requests/active') return original.requests.map(brief);
  if (path in original.lists) return original.lists[path];
  if (/^(groups|webhooks|disasters\/disabled-actions|inactive|slaves|racks|notifications\/blocklist)$/.test(path))
    return [];
  const [, task] = /^history\/task\/(.+)$/.exec(path) ?? [];
  if (task) return original.requests.some(({ taskIds }) => taskIds.includes(task)) ? taskHistory(task) : undefined;
  const [, planned] = /^tasks\/scheduled\/request\/(.+)$/.exec(path) ?? [];
  if (planned) {
    const { planned: types = [] } = original.requests.find(({ request }) => request.id === planned) ?? {};
    return types.map((pendingType) => ({ pendingTask: { pendingTaskId: { requestId: planned, pendingType } } }));
  }
  const [, id, rest] = /^(?:requests|history)\/request\/([^/]+)\/?(.*)$/.exec(path) ?? [];
  const found = original.requests.find(({ request }) => request.id === id);
  if (!found) return undefined;
  const deploys = found.deploys.map(({ id: deployId, result }) => ({
    deployMarker: marker(found, deployId),
    ...(result ? { deployResult: { deployState: result, deployFailures: [], timestamp: startedAt + 9_000 } } : {}),
  }));
  if (rest === '') return { ...brief(found), activeDeploy: deployOf(found, found.activeDeployId), ...found.more };
  if (rest === 'requests') return found.events.map((event) => ({ ...event, request: found.request })).slice(...page);
  if (rest === 'deploys') return deploys.slice(...page);
  if (rest === 'tasks') return found.taskIds.map(taskEntry).slice(...page);
  if (rest === 'tasks/active') return found.activeTaskIds.map(taskEntry);
  const [, deployId] = /^deploy\/(.+)$/.exec(rest!) ?? [];
  const listed = deploys.find(({ deployMarker }) => deployMarker.deployId === deployId);
  return listed && { ...listed, deploy: deployOf(found, deployId) };
}

const brief = (found: OriginalRequest): Json => ({
  request: found.request,
  state: found.state,
  requestDeployState: {
    requestId: found.request.id,
    ...(found.activeDeployId ? { activeDeploy: marker(found, found.activeDeployId) } : {}),
    ...(found.pendingDeployId ? { pendingDeploy: marker(found, found.pendingDeployId) } : {}),
  },
});

const marker = ({ request, deploys }: OriginalRequest, deployId: string) => ({
  requestId: request.id,
  deployId,
  timestamp: startedAt + 1_000 * deploys.findIndex(({ id }) => id === deployId),
  user: 'ada',
});

const deployOf = ({ request, deploys }: OriginalRequest, deployId: string | undefined): Json | undefined => {
  const found = deploys.find(({ id }) => id === deployId);
  return (
    found && {
      requestId: request.id,
      id: found.id,
      command: 'sleep 1',
      resources: { cpus: 0.1, memoryMb: 32, numPorts: 0, diskMb: 0 },
      env: { A: 'b' },
      labels: { team: 'x' },
      mesosLabels: [{ key: 'team', value: 'x' }],
      s3UploaderAdditionalFiles: [],
      ...found.deploy,
    }
  );
};

function idParts(id: string): Json & { id: string } {
  const [, requestId, deployId, at] = /^(.+)-([^-]+)-(\d+)-1-host_1-rack1$/.exec(id)!;
  const place = { host: 'host_1', sanitizedHost: 'host_1', sanitizedRackId: 'rack1', rackId: 'rack1' };
  return { requestId, deployId, startedAt: Number(at), instanceNo: 1, ...place, id };
}

const taskEntry = (id: string): Json => ({
  taskId: idParts(id),
  updatedAt: Number(idParts(id)['startedAt']) + 500,
  runId: `run-${id}`,
  lastTaskState: 'TASK_FINISHED',
});

function taskHistory(id: string): Json {
  const taskId = idParts(id);
  const at = Number(taskId['startedAt']);
  const update = (taskState: string, after: number) => ({ taskId, taskState, timestamp: at + after, previous: [] });
  return {
    taskUpdates: [update('TASK_LAUNCHED', 0), update('TASK_RUNNING', 100), update('TASK_FINISHED', 500)],
    healthcheckResults: [],
    loadBalancerUpdates: [],
    shellCommandHistory: [],
    taskMetadata: [],
    task: {
      taskId,
      taskRequest: { request: { id: taskId['requestId'], requestType: 'SERVICE' } },
      offer: { agentId: { value: 'agent-1' }, slaveId: { value: 'agent-1' }, hostname: 'host-1' },
      mesosTask: { taskId: { value: id } },
      rackId: 'rack1',
    },
  };
}
