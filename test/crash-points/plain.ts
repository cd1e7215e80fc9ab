import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import type { Stage } from './stage.js';

/** The request that most scenarios are about. */
export const service = (changes: Partial<Request> = {}): Request => ({
  id: 'svc',
  requestType: 'SERVICE',
  ...changes,
});

/** A deploy of it. Its tasks find their version in VERSION. */
export const version = (id: string, changes: Partial<Deploy> = {}): Deploy => ({
  requestId: 'svc',
  id,
  command: 'run',
  resources: { cpus: 1, memoryMb: 64 },
  env: { VERSION: id },
  ...changes,
});

/** The request as one of another type. */
export const job = (changes: Partial<Request>): Request => service(changes);

export const deployIsOver = (stage: Stage): Promise<void> =>
  stage.until('the deploy is over', ({ requests }) => !requests.get('svc')?.pendingDeployId);

export const bounceIsOver = (stage: Stage): Promise<void> =>
  stage.until('the bounce is over', ({ requests }) => !requests.get('svc')?.bouncing);
