import type { CrashLoopType } from './enums.js';

/** A deploy whose tasks fail again and again, in one of the ways that are told apart. */
export interface CrashLoopInfo {
  requestId: string;
  deployId: string;
  /** Epoch milliseconds of the first failure that counts; of the latest one in a FAST_FAILURE_LOOP. */
  start: number;
  /** Time at which it was first found to be over; absent: it continues. */
  end?: number;
  type: CrashLoopType;
}
