import { ApiPropertyOptional, ApiQuery } from '@nestjs/swagger';
import { taskStates, type TaskState } from '../../../core/model/enums.js';
import { QueryBoolean, QueryInt, QueryText, QueryWord, QueryTimestamp } from '../../../platform/http/query.js';
import { Text } from '../../../platform/http/fields.js';
import { Since } from '../../../platform/http/since.js';

/** Selects a part of a list. */
export class KeysetPage {
  /** Number of entries to answer, at most 1000; default 100. */
  @QueryInt()
  count?: number;
  /** Number of the page, from 1. */
  @QueryInt()
  page?: number;
}

const skipZkMeaning =
  'Only what has moved to the history. Requests and deploys are in it at once, ended tasks usually within a second.';

/** Documents the default of skipZk for an operation. */
export const SkipZkDefault = (value: boolean) =>
  ApiQuery({
    name: 'skipZk',
    required: false,
    schema: { type: 'boolean', default: value },
    description: skipZkMeaning,
  });

/** Selects a part of a list, and its source. */
export class HistoryQuery extends KeysetPage {
  /** Only what has moved to the history. Requests and deploys are in it at once, ended tasks usually within a second. */
  @QueryBoolean()
  skipZk?: boolean;
}

/** Selects changes of a request. All filters that are given must hold. */
export class RequestChangeQuery extends HistoryQuery {
  /** Only those made before this time, in epoch milliseconds. */
  @Since('1.5')
  @QueryTimestamp()
  createdBefore?: number;
  /** Only those made after this time. */
  @Since('1.5')
  @QueryTimestamp()
  createdAfter?: number;
  /** Order by the time of the change; default: DESC. */
  @Since('1.5')
  @QueryWord(['ASC', 'DESC'])
  orderDirection?: 'ASC' | 'DESC';
}

/** Selects ended tasks. All filters that are given must hold. */
export class TaskFilterQuery extends HistoryQuery {
  /** Only of this deploy. */
  @QueryText('name')
  deployId?: string;
  /** Only of this run. */
  @QueryText('name')
  runId?: string;
  /** Only those that ran on this host. */
  @QueryText('name')
  host?: string;
  /** Only those that ended in this state. */
  @QueryWord(taskStates)
  lastTaskStatus?: TaskState;
  /** Only those launched before this time, in epoch milliseconds. */
  @QueryTimestamp()
  startedBefore?: number;
  /** Only those launched after this time. */
  @QueryTimestamp()
  startedAfter?: number;
  /** Only those whose last update came before this time. */
  @QueryTimestamp()
  updatedBefore?: number;
  /** Only those whose last update came after this time. */
  @QueryTimestamp()
  updatedAfter?: number;
  /** Order by the last update; default: DESC. */
  @QueryWord(['ASC', 'DESC'])
  orderDirection?: 'ASC' | 'DESC';
}

/** Selects ended tasks, of one request or of all. */
export class TaskSearchQuery extends TaskFilterQuery {
  /** Only of this request. */
  @QueryText('name')
  requestId?: string;
}

/** Selects requests that exist or existed. */
export class RequestSearchQuery extends KeysetPage {
  /** Beginning of their ids. */
  @Text('name')
  requestIdLike: string;
  /** Accepted for older clients; answers are always current. */
  @QueryBoolean()
  useWebCache?: boolean;
}

/** Limits the search for arguments. */
export class CommandLineArgsQuery {
  /** Number of the newest ended tasks to look at; default 5. */
  @QueryInt()
  count?: number;
  /** Only tasks that have moved to the history; default: true. */
  @QueryBoolean()
  skipZk?: boolean;
}

/** Options for the conversion of the history of an older installation. */
export class BackfillQuery {
  /** Rows per transaction, at most 1000; default 20. */
  @QueryInt()
  @ApiPropertyOptional({ default: 20 })
  batchSize?: number;
}
