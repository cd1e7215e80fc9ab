import type { Meter } from './download.js';
import type { FetchLimits } from './order.js';

/** Context for putting files into a sandbox. All paths are relative to it. */
export interface StagingArea {
  root: string;
  limits: FetchLimits;
  meter: Meter;
  /** Files are put below this directory. */
  directory: string;
  /** A line for executor.log. */
  note(line: string): Promise<void>;
}
