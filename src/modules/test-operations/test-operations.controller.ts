import { Controller, HttpCode, Inject, Injectable, Param, Post, UseGuards, type CanActivate } from '@nestjs/common';
import { ApiConflictResponse, ApiForbiddenResponse, ApiInternalServerErrorResponse, ApiTags } from '@nestjs/swagger';
import { SchedulerError } from '../../platform/errors.js';
import { ErrorDto } from '../../platform/http/error.dto.js';
import { Query } from '../../platform/http/inputs.js';
import { Since } from '../../platform/http/since.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { NotLeaderDto } from '../leadership/not-leader.dto.js';
import { TaskIdPipe } from '../../platform/http/task-id.pipe.js';
import { ForcedStatusParams } from './dto/forced-status.dto.js';
import { TestExceptionQuery } from './dto/test-exception.dto.js';
import { TestOperations } from './test-operations.service.js';

/** Refuses every call that breaks the service, unless its operator asked for such calls. */
@Injectable()
class TestCallsGuard implements CanActivate {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  canActivate(): boolean {
    if (this.settings.allowTestResourceCalls) return true;
    throw new SchedulerError(
      'TEST_CALLS_DISABLED',
      'Test operations are off; the setting allowTestResourceCalls switches them on',
    );
  }
}

@ApiTags('Test operations')
@ApiForbiddenResponse({ type: ErrorDto })
@UseGuards(TestCallsGuard)
@Controller('api/test')
export class TestOperationsController {
  constructor(private readonly tests: TestOperations) {}

  /** Makes this instance give its leadership up and begin anew, as after an error that it cannot survive. */
  @Post('abort')
  @HttpCode(204)
  abort(): void {
    this.tests.abort();
  }

  /** Makes this instance believe that it lost the leadership. */
  @Post('notleader')
  @HttpCode(204)
  loseLeadership(): void {
    this.tests.loseLeadership();
  }

  /** Makes this instance lead, whichever instance leads now. Answers when it does. */
  @Post('leader')
  @HttpCode(204)
  gainLeadership(): Promise<void> {
    return this.tests.gainLeadership();
  }

  /** Makes this instance give its leadership up and compete no more. */
  @Post('stop')
  @HttpCode(204)
  stop(): void {
    this.tests.stop();
  }

  /** Makes this instance compete for the leadership again. */
  @Post('start')
  @HttpCode(204)
  start(): void {
    this.tests.start();
  }

  /** Ends the connection to the machines and begins it anew. 409 on an instance that does not lead. */
  @Post('reconnect-cluster')
  @HttpCode(204)
  @ApiConflictResponse({ type: NotLeaderDto })
  reconnect(): Promise<void> {
    return this.tests.reconnect();
  }

  /** Begins to compare our tasks with those of the machines. 409 on an instance that does not lead. */
  @Post('reconcile')
  @HttpCode(204)
  @ApiConflictResponse({ type: NotLeaderDto })
  reconcile(): Promise<void> {
    return this.tests.reconcile();
  }

  /** Puts an active task into a state, whatever really happens to it. 409 on an instance that does not lead. */
  @Post('scheduler/statusUpdate/:taskId/:taskState')
  @HttpCode(204)
  @ApiConflictResponse({ type: NotLeaderDto })
  forceStatus(@Param('taskId', TaskIdPipe) taskId: string, @Param() { taskState }: ForcedStatusParams): Promise<void> {
    return this.tests.forceStatus(taskId, taskState);
  }

  /** Removes what of the history is too old or too much. */
  @Post('purge-history')
  @HttpCode(204)
  purgeHistory(): Promise<void> {
    return this.tests.purgeHistory();
  }

  /** Removes changes of requests that are too old. */
  @Post('purge-history/request')
  @HttpCode(204)
  purgeRequestHistory(): Promise<void> {
    return this.tests.purgeHistory('requests');
  }

  /** Removes deploys that are too old. */
  @Post('purge-history/deploy')
  @HttpCode(204)
  purgeDeployHistory(): Promise<void> {
    return this.tests.purgeHistory('deploys');
  }

  /** Has the leader move tasks that have ended to the history now. */
  @Post('persist-task-history')
  @HttpCode(204)
  @Since('1.5')
  persistTaskHistory(): void {
    this.tests.persistTaskHistory();
  }

  /** Fails. */
  @Post('exception')
  @HttpCode(204)
  @ApiInternalServerErrorResponse({ type: ErrorDto })
  fail(@Query() { message }: TestExceptionQuery): void {
    this.tests.fail(message);
  }
}
