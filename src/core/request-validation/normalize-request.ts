import type { RequestType } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { readSchedule } from '../schedules/index.js';

/** The request as it is stored: what was sent, with the Quartz form of its schedule beside it. */
export function normalizeRequest(request: Request): Request {
  if (request.requestType !== 'SCHEDULED') return request;
  const read = readSchedule(request);
  return 'errors' in read || read.type === 'RFC5545' ? request : { ...request, quartzSchedule: read.quartz };
}

/** Very old clients send `daemon` in place of a type. Without it a missing type stays missing, which is an error. */
export function readLegacyType(sent: {
  requestType?: RequestType;
  daemon?: boolean;
  schedule?: string;
  quartzSchedule?: string;
  loadBalanced?: boolean;
}): RequestType | undefined {
  if (sent.requestType !== undefined || sent.daemon === undefined) return sent.requestType;
  if (sent.schedule !== undefined || sent.quartzSchedule !== undefined) return 'SCHEDULED';
  if (!sent.daemon) return 'ON_DEMAND';
  return sent.loadBalanced ? 'SERVICE' : 'WORKER';
}
