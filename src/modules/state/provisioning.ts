import type { RequestType } from '../../core/model/enums.js';

/** What counts for whether a request has the tasks that it should have. */
export interface ProvisionedRequest {
  id: string;
  requestType: RequestType;
  instances?: number;
  hasDeploy: boolean;
  /** Active tasks, and those of them that have to go. */
  active: number;
  cleaning: number;
  /** Tasks that wait for their time or for a machine. */
  waiting: number;
  /** The scheduler is still to look at it. */
  queued: boolean;
}

export type Provisioning = 'OVER' | 'UNDER' | 'RIGHT';

export function judgeProvisioning(request: ProvisionedRequest): Provisioning {
  const leaving = request.requestType === 'SCHEDULED' ? 0 : request.cleaning;
  const have = request.active + request.waiting - leaving;
  const want = request.requestType === 'SCHEDULED' ? 1 : (request.instances ?? 1);
  if (have > want) return 'OVER';
  return have < want && !request.queued && request.hasDeploy ? 'UNDER' : 'RIGHT';
}
