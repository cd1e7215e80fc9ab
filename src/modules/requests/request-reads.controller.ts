import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { User } from '../../core/authorization/index.js';
import type { RequestBatch, RequestCleanup, RequestParent, RequestWithState } from '../../core/model/request.js';
import type { PendingRequest } from '../../core/model/task.js';
import type { RequestState } from '../../core/model/enums.js';
import type { ListPage, KeysetPage } from '../../platform/database/keyset.js';
import { CallerUser } from '../../platform/http/caller.js';
import { Query } from '../../platform/http/inputs.js';
import { AskedPage } from '../../platform/http/pages.js';
import { BatchQuery, CacheQuery, RequestIdsQuery, RequestListQuery } from './dto/queries.dto.js';
import {
  PendingRequestDto,
  RequestBatchDto,
  RequestCleanupDto,
  RequestParentDto,
  RequestWithStateDto,
} from './dto/request-parent.dto.js';
import { type RequestListFilter, RequestLists } from './request-lists.service.js';
import { RequestReads } from './request-reads.service.js';

type RequestList = Promise<RequestParent[] | ListPage<RequestParent>>;
type IdList = Promise<string[] | ListPage<string>>;

/** Requests that may start tasks without an action of a user. */
const activeStates: readonly RequestState[] = ['ACTIVE', 'DEPLOYING_TO_UNPAUSE'];

@ApiTags('Requests')
@Controller('api/requests')
export class RequestReadsController {
  constructor(
    private readonly lists: RequestLists,
    private readonly reads: RequestReads,
  ) {}

  /** All requests, those first that were acted on last. */
  @Get()
  @ApiOkResponse({ type: [RequestParentDto] })
  list(@Query() query: RequestListQuery, @CallerUser() user: User, @AskedPage() page?: KeysetPage): RequestList {
    return this.found(query, user, page);
  }

  /** Requests that run. */
  @Get('active')
  @ApiOkResponse({ type: [RequestParentDto] })
  active(@Query() query: RequestListQuery, @CallerUser() user: User, @AskedPage() page?: KeysetPage): RequestList {
    return this.found({ ...query, states: activeStates }, user, page);
  }

  /** Requests that are paused. */
  @Get('paused')
  @ApiOkResponse({ type: [RequestParentDto] })
  paused(@Query() query: RequestListQuery, @CallerUser() user: User, @AskedPage() page?: KeysetPage): RequestList {
    return this.found({ ...query, states: ['PAUSED'] }, user, page);
  }

  /** Requests whose tasks fail so fast that new ones are delayed. */
  @Get('cooldown')
  @ApiOkResponse({ type: [RequestParentDto] })
  cooldown(@Query() query: RequestListQuery, @CallerUser() user: User, @AskedPage() page?: KeysetPage): RequestList {
    return this.found({ ...query, states: ['SYSTEM_COOLDOWN'] }, user, page);
  }

  /** SCHEDULED requests whose schedule has no further time. */
  @Get('finished')
  @ApiOkResponse({ type: [RequestParentDto] })
  finished(@Query() query: RequestListQuery, @CallerUser() user: User, @AskedPage() page?: KeysetPage): RequestList {
    return this.found({ ...query, states: ['FINISHED'] }, user, page);
  }

  /** Ids of all requests, in their order. */
  @Get('ids')
  @ApiOkResponse({ type: [String] })
  ids(@Query() query: RequestIdsQuery, @CallerUser() user: User, @AskedPage() page?: KeysetPage): IdList {
    return page ? this.reads.idsPage(query, page, user) : this.reads.ids(query, user);
  }

  /** Ids of the requests that run, in their order. */
  @Get('ids/active')
  @ApiOkResponse({ type: [String] })
  activeIds(@Query() _query: CacheQuery, @CallerUser() user: User, @AskedPage() page?: KeysetPage): IdList {
    const filter = { state: activeStates };
    return page ? this.reads.idsPage(filter, page, user) : this.reads.ids(filter, user);
  }

  /** Several requests at once. */
  @Get('batch')
  @ApiOkResponse({ type: RequestBatchDto })
  batch(@Query() query: BatchQuery): Promise<RequestBatch> {
    return this.reads.batch(query.id ?? []);
  }

  /** Wishes that the scheduler has not looked at yet, oldest first. */
  @Get('queued/pending')
  @ApiOkResponse({ type: [PendingRequestDto] })
  queuedPending(): Promise<PendingRequest[]> {
    return this.reads.queuedRequests();
  }

  /** Orders for whole requests that the cleaner has not carried out yet, oldest first. */
  @Get('queued/cleanup')
  @ApiOkResponse({ type: [RequestCleanupDto] })
  queuedCleanup(): Promise<RequestCleanup[]> {
    return this.reads.queuedCleanups();
  }

  /** One request with its deploys, tasks and expiring actions. */
  @Get('request/:requestId')
  @ApiOkResponse({ type: RequestParentDto })
  one(@Param('requestId') requestId: string, @Query() _query: CacheQuery): Promise<RequestParent> {
    return this.reads.one(requestId);
  }

  /** One request without its deploys and tasks. */
  @Get('request/:requestId/simple')
  @ApiOkResponse({ type: RequestWithStateDto })
  simple(@Param('requestId') requestId: string, @Query() _query: CacheQuery): Promise<RequestWithState> {
    return this.reads.simple(requestId);
  }

  private found(filter: RequestListFilter, user: User, page: KeysetPage | undefined): RequestList {
    return page ? this.lists.page(filter, page, user) : this.lists.list(filter, user);
  }
}
