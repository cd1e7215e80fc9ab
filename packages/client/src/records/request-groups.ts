import { type Int64, record } from '../schema.js';

/** In which way tasks fail. */
export type CrashLoopType =
  | 'FAST_FAILURE_LOOP'
  | 'STARTUP_FAILURE_LOOP'
  | 'OOM'
  | 'SINGLE_INSTANCE_FAILURE_LOOP'
  | 'MULTI_INSTANCE_FAILURE'
  | 'SLOW_FAILURES'
  | 'UNEXPECTED_EXITS';

/** A deploy whose tasks fail again and again. */
export interface CrashLoopInfo {
  /** Time of the first failure that counts, or of the latest one of a FAST_FAILURE_LOOP, in epoch milliseconds. */
  start: Int64;
  /** When it was found to be over, in epoch milliseconds; absent: it goes on. */
  end?: Int64;
  /** In which way its tasks fail. */
  type: CrashLoopType;
  /** The request. */
  requestId: string;
  /** Its active deploy. */
  deployId: string;
}
export const CrashLoopInfo = record<CrashLoopInfo>('CrashLoopInfo');

/** Requests that belong together, such as those of one product. */
export interface RequestGroup {
  /** Id of the group: letters, digits, '_' and '-'. */
  id: string;
  /** Ids of its requests, in the order in which people see them. They need not exist. */
  requestIds: string[];
  /** Whatever people want to note about the group. */
  metadata?: Record<string, string>;
}
export const RequestGroup = record<RequestGroup>('RequestGroup');
