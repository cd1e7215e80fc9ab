import { QueryTimestamp } from '../../../platform/http/query.js';
import { Since } from '../../../platform/http/since.js';

/** Parameters of the tracking of a run. */
export class TrackRunQuery {
  /** Only the run that was asked for at this time, `pendingRequest.askedAt` of the answer; else the newest one of this id. */
  @Since('muster')
  @QueryTimestamp()
  askedAt?: number;
}
