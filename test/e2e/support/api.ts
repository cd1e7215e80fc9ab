import type { DeployHistory, Deploy } from '../../../src/core/model/deploy.js';
import type { Request, RequestParent } from '../../../src/core/model/request.js';
import type { Task, TaskHistory, TaskIdHistory } from '../../../src/core/model/task.js';
import { waitFor } from '../../support/wait-for.js';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly body: string,
  ) {
    super(`${status} ${body}`);
  }
}

/** The calls a user makes, by plain HTTP. */
export class Api {
  constructor(
    readonly url: string,
    private readonly headers: Record<string, string> = {},
  ) {}

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${this.url}/api/${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...this.headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(15_000),
    });
    const text = await response.text();
    if (!response.ok) throw new ApiError(response.status, text);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
  get = <T>(path: string): Promise<T> => this.call<T>('GET', path);
  post = <T>(path: string, body?: unknown): Promise<T> => this.call<T>('POST', path, body ?? {});

  /** The OpenAPI document that it serves. */
  document = async <T>(): Promise<T> => (await (await fetch(`${this.url}/docs/openapi.json`)).json()) as T;

  saveRequest = (request: Request): Promise<RequestParent> => this.post('requests', request);
  request = (id: string): Promise<RequestParent> => this.get(`requests/request/${id}`);
  deploy = (deploy: Deploy): Promise<RequestParent> => this.post('deploys', { deploy });
  deployHistory = (requestId: string, deployId: string): Promise<DeployHistory> =>
    this.get(`history/request/${requestId}/deploy/${deployId}`);
  activeTasks = async (requestId: string): Promise<Task[]> =>
    (await this.get<Task[]>('tasks/active')).filter((task) => task.taskId.requestId === requestId);
  history = (taskId: string): Promise<TaskHistory> => this.get(`history/task/${taskId}`);
  endedTasks = (requestId: string): Promise<TaskIdHistory[]> => this.get(`history/request/${requestId}/tasks`);

  /** The state a deploy ended in. */
  deployEnded = (requestId: string, deployId: string, timeoutMs = 60_000): Promise<DeployHistory> =>
    waitFor(
      `the end of deploy ${deployId} of ${requestId}`,
      async () => {
        const history = await this.deployHistory(requestId, deployId);
        return history.deployResult ? history : undefined;
      },
      { timeoutMillis: timeoutMs },
    );

  /** Exactly these many tasks of the request run, and none of them is going away. */
  running = (requestId: string, count: number, timeoutMs = 30_000): Promise<Task[]> =>
    waitFor(
      `${count} running tasks of ${requestId}`,
      async () => {
        const { taskIds } = await this.request(requestId);
        const steady = taskIds && taskIds.cleaning.length + taskIds.killed.length + taskIds.pending.length === 0;
        const tasks = await this.activeTasks(requestId);
        if (!steady || tasks.length !== count) return undefined;
        const histories = await Promise.all(tasks.map((task) => this.history(task.taskId.id)));
        const runs = (history: TaskHistory) =>
          history.taskUpdates.some((update) => update.taskState === 'TASK_RUNNING');
        return histories.every(runs) ? tasks : undefined;
      },
      { timeoutMillis: timeoutMs },
    );
}

/** Ports given to a task, in order. */
export const portsOf = (task: Task): number[] =>
  (task.clusterTask?.resources ?? [])
    .filter((resource) => resource.name === 'ports')
    .flatMap((resource) => resource.ranges?.range ?? [])
    .flatMap(({ begin = 0, end = -1 }) => Array.from({ length: end - begin + 1 }, (_, index) => begin + index));
