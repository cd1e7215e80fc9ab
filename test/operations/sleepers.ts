import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import type { RequestParent } from '../../src/core/model/request.js';
import type { Api } from '../e2e/support/api.js';

/** Something to run that needs next to nothing. */
export const sleepDeploy = (requestId: string, changes: Partial<Deploy> = {}): Deploy => ({
  requestId,
  id: 'd1',
  command: 'sleep 1000',
  resources: { cpus: 0.1, memoryMb: 16 },
  ...changes,
});

/** Saves the request, a SERVICE unless it says otherwise, and deploys the command `sleep`. */
export async function startSleeper(
  api: Api,
  request: Pick<Request, 'id'> & Partial<Request>,
  deploy: Partial<Deploy> = {},
): Promise<RequestParent> {
  await api.saveRequest({ requestType: 'SERVICE', ...request });
  return api.deploy(sleepDeploy(request.id, deploy));
}
