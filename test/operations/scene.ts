import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request, RequestParent } from '../../src/core/model/request.js';
import type { Task } from '../../src/core/model/task.js';
import { waitFor } from '../support/wait-for.js';
import type { CallInput, Operations } from './operations.js';
import type { OperationName } from './ledger.js';

/** Body of an answer of 400 and above. */
export interface Refusal {
  code: string;
  message: string;
  errors: { field: string; rule: string; message: string }[];
}

export type RequestChanges = Partial<Request> & { id: string };

/** Requests and deploys that tests set up and look at. */
export class Scene {
  constructor(readonly operations: Operations) {}

  /** A SERVICE unless said otherwise. */
  request = (changes: RequestChanges): Promise<RequestParent> =>
    this.operations.call('POST /api/requests', 200, { body: { requestType: 'SERVICE', ...changes } });

  /** Tasks that sleep, are small, and count as healthy when they have run for a moment. */
  deploy = (requestId: string, changes: Partial<Deploy> = {}): Promise<RequestParent> =>
    this.operations.call('POST /api/deploys', 200, { body: { deploy: sleeping(requestId, changes) } });

  /** A request whose deploy v1 has succeeded. */
  async running(changes: RequestChanges, deploy: Partial<Deploy> = {}): Promise<Task[]> {
    await this.request(changes);
    await this.deploy(changes.id, deploy);
    const { deployResult } = await this.operations.api.deployEnded(changes.id, deploy.id ?? 'v1');
    if (deployResult?.deployState !== 'SUCCEEDED') throw new Error(JSON.stringify(deployResult));
    return this.operations.api.activeTasks(changes.id);
  }

  /** A task that takes its time when it is told to end, so that what waits for its end can be looked at. */
  async slowToEnd(changes: RequestChanges, seconds: number): Promise<Task[]> {
    // Also when it is told twice: what it starts from then on does not hear of it either.
    const command = `trap 'trap "" TERM; sleep ${seconds}; exit 0' TERM; echo ready; while true; do sleep 0.2; done`;
    const tasks = await this.running(changes, { command });
    // It runs from its first instruction on, and has no trap before it says so.
    for (const { taskId } of tasks) {
      const read = `sandbox/${taskId.id}/read?path=stdout&offset=0`;
      await waitFor(`${taskId.id} to be ready`, async () =>
        (await this.operations.api.get<{ data: string }>(read)).data.includes('ready'),
      );
    }
    return tasks;
  }

  one = (requestId: string): Promise<RequestParent> =>
    this.operations.call('GET /api/requests/request/{requestId}', 200, { params: { requestId } });

  /** The newest change of a request: what happened, who did it, and what they said about it. */
  async lastEvent(requestId: string): Promise<{ eventType: string; user?: string; message?: string }> {
    const events = await this.operations.api.get<never[]>(`history/request/${requestId}/requests?count=1`);
    return events[0]!;
  }

  /** Waits until the request is like this. */
  until = (requestId: string, what: string, holds: (parent: RequestParent) => boolean): Promise<RequestParent> =>
    waitFor(
      `request ${requestId} ${what}`,
      async () => {
        const parent = await this.one(requestId);
        return holds(parent) ? parent : undefined;
      },
      { everyMillis: 100 },
    );

  untilGone = (requestId: string): Promise<unknown> =>
    waitFor(`request ${requestId} to be gone`, async () =>
      (await this.operations.api.get<string[]>('requests/ids')).every((id) => id !== requestId),
    );

  refuses = (operation: OperationName, status: number, input: CallInput = {}): Promise<Refusal> =>
    this.operations.call<Refusal>(operation, status, input);
}

/** A deploy v1 of small tasks that sleep. */
export const sleeping = (requestId: string, changes: Partial<Deploy> = {}): Deploy => ({
  requestId,
  id: 'v1',
  command: 'sleep 1000',
  resources: { cpus: 0.1, memoryMb: 16 },
  considerHealthyAfterRunningForSeconds: 0,
  ...changes,
});

export const noTasks = { healthy: [], notYetHealthy: [], pending: [], cleaning: [], loadBalanced: [], killed: [] };
