import type { RequestType } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { readSchedule } from '../schedules/index.js';

/**
 * The request as it is stored: what was sent, with the Quartz form of its schedule beside it. `stored`: the request whose
 * place it takes.
 */
export function normalizeRequest(request: Request, stored?: Request): Request {
  if (request.requestType !== 'SCHEDULED') return request;
  const asked = sendsOldQuartzBack(request, stored) ? { ...request, quartzSchedule: undefined } : request;
  const read = readSchedule(asked);
  if ('errors' in read || read.type === 'RFC5545') return asked;
  return { ...asked, quartzSchedule: read.quartz };
}

/** Clients change the schedule and send all other members as they were answered, the derived expression among them. */
function sendsOldQuartzBack({ schedule, scheduleType, quartzSchedule }: Request, stored: Request | undefined): boolean {
  if (!stored || schedule === undefined || quartzSchedule === undefined) return false;
  if (quartzSchedule !== stored.quartzSchedule) return false;
  if (schedule === stored.schedule && scheduleType === stored.scheduleType) return false;
  const derived = readSchedule({ ...stored, quartzSchedule: undefined });
  return 'quartz' in derived && derived.quartz === quartzSchedule;
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
