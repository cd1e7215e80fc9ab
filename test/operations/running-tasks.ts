import type { Deploy } from '../../src/core/model/deploy.js';
import { instancesOf, type Request, type RequestParent } from '../../src/core/model/request.js';
import type { Task, TaskId, TaskTracking } from '../../src/core/model/task.js';
import type { Api } from '../e2e/support/api.js';
import { waitFor } from '../support/wait-for.js';
import type { Operations } from './operations.js';

/** An id of the right form that no task has. */
export const unknownTaskId = 'nobody-d1-1234567890123-1-localhost-rack1';

export const idsOf = (tasks: readonly { taskId: TaskId }[]): string[] => tasks.map(({ taskId }) => taskId.id);

/** Something to run that needs next to nothing. */
export const sleepDeploy = (requestId: string, changes: Partial<Deploy> = {}): Deploy => ({
  requestId,
  id: 'd1',
  command: 'exec sleep 1000',
  resources: { cpus: 0.1, memoryMb: 16, numPorts: 0, diskMb: 0 },
  ...changes,
});

/** A request, a SERVICE unless it says otherwise, with a deploy that may not be in use yet. */
export async function deployed(
  api: Api,
  request: Pick<Request, 'id'> & Partial<Request>,
  deploy: Partial<Deploy> = {},
): Promise<RequestParent> {
  await api.saveRequest({ requestType: 'SERVICE', ...request });
  return api.deploy(sleepDeploy(request.id, deploy));
}

/** Makes a request and waits until its deploy has succeeded. Returns its tasks. */
export async function serving(...[api, request, deploy]: Parameters<typeof deployed>): Promise<Task[]> {
  await deployed(api, request, deploy);
  await api.deployEnded(request.id, deploy?.id ?? 'd1');
  return api.running(request.id, instancesOf(request));
}

/** A request for jobs, whose deploy is in use. */
export async function jobs(...[api, request, deploy]: Parameters<typeof deployed>): Promise<void> {
  await deployed(api, { requestType: 'ON_DEMAND', ...request }, deploy);
  await waitFor('the deploy', async () => (await api.request(request.id)).requestDeployState?.activeDeploy);
}

/** Runs a job to its end. Answers what is known of the run. */
export async function ran(api: Api, requestId: string, options: { runId: string; commandLineArgs?: string[] }) {
  await api.post(`requests/request/${requestId}/run`, options);
  return waitFor(`the end of run ${options.runId}`, async () => {
    const run = await api.get<TaskTracking>(`track/run/${requestId}/${options.runId}`);
    return /FINISHED|FAILED|KILLED/.test(run.currentState ?? '') && (run as Required<TaskTracking>);
  });
}

/** Calls that are refused: each answers the message. */
export const refusalsOf =
  (operations: Operations) =>
  async (...[operation, status, input]: Parameters<Operations['call']>): Promise<string> =>
    (await operations.call<{ message: string }>(operation, status, input)).message;
