import { requestStates, requestTypes, type RequestState, type RequestType } from '../../../core/model/enums.js';
import { QueryBoolean, QueryLimit, QueryText, QueryTexts, QueryWords } from '../../../platform/http/query.js';
import { Since } from '../../../platform/http/since.js';

/** Parameters of reads that could be answered from a cache. */
export class CacheQuery {
  /** Accepted for older clients. Answers are always current. */
  @QueryBoolean()
  useWebCache?: boolean;
}

/** Parameters of the lists of requests. */
export class RequestListQuery extends CacheQuery {
  /** Only requests that concern the caller. Without effect while authentication is off: then no caller is known. */
  @QueryBoolean()
  filterRelevantForUser?: boolean;
  /** Add expiring actions and task ids to each entry. */
  @QueryBoolean()
  includeFullRequestData?: boolean;
  /** At most so many entries. */
  @QueryLimit()
  limit?: number;
  /** Only requests of these types. May be repeated. */
  @QueryWords(requestTypes)
  requestType?: RequestType[];
  /** Add to each SCHEDULED entry when it runs next. Needs a limit of at most 100. */
  @Since('muster')
  @QueryBoolean()
  nextRuns?: boolean;
}

/** Parameters of the list of request ids. */
export class RequestIdsQuery extends CacheQuery {
  /** Only ids that begin so, in capital or small letters. */
  @QueryText('name')
  requestIdLike?: string;
  /** Only requests in these states. May be repeated. */
  @QueryWords(requestStates)
  state?: RequestState[];
}

/** Selects requests by id. */
export class BatchQuery {
  /** Id of a request. May be repeated. */
  @QueryTexts('name')
  id?: string[];
}

/** Parameters of the plan of a scale. */
export class PlanScaleQuery {
  /** Ending many tasks at once is meant. */
  @Since('1.5')
  @QueryBoolean()
  largeScaleDownAcknowledged?: boolean;
}

/** Parameters of a scale. */
export class ScaleQuery extends PlanScaleQuery {
  /** Check index of the plan that this carries out: refused when the request or its deploys have changed since. */
  @Since('muster')
  @QueryText('name')
  checkIndex?: string;
}

/** Parameters of a run. */
export class RunQuery {
  /** Answer only request, state and pendingRequest. */
  @QueryBoolean()
  minimal?: boolean;
  /** Refuse a runId that an earlier run of this request has (409 RUN_ID_USED); else there are two runs of that id. */
  @Since('muster')
  @QueryBoolean()
  newRunId?: boolean;
}
