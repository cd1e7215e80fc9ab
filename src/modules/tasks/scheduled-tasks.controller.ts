import { Controller, Delete, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Query } from '../../platform/http/inputs.js';
import { CacheQuery } from '../requests/dto/queries.dto.js';
import { PendingTaskIdDto } from './dto/task-id.dto.js';
import { PendingTaskDto, TaskRequestDto } from './dto/task.dto.js';
import { ScheduledTasks } from './scheduled-tasks.service.js';
import { PendingTaskIdPipe } from '../../platform/http/task-id.pipe.js';

@ApiTags('Tasks')
@Controller('api/tasks/scheduled')
export class ScheduledTasksController {
  constructor(private readonly scheduled: ScheduledTasks) {}

  /** Lists the tasks that wait for their time or for a machine, the next one first. */
  @Get()
  list(@Query() _query: CacheQuery): Promise<TaskRequestDto[]> {
    return this.scheduled.list();
  }

  /** Lists the ids of the tasks that wait for their time or for a machine, the next one first. */
  @Get('ids')
  ids(@Query() _query: CacheQuery): Promise<PendingTaskIdDto[]> {
    return this.scheduled.ids();
  }

  /** Lists the waiting tasks of one request. */
  @Get('request/:requestId')
  ofRequest(@Param('requestId') requestId: string, @Query() _query: CacheQuery): Promise<TaskRequestDto[]> {
    return this.scheduled.list({ requestId });
  }

  /** Shows one waiting task. */
  @Get('task/:pendingTaskId')
  find(@Param('pendingTaskId', PendingTaskIdPipe) id: string): Promise<TaskRequestDto> {
    return this.scheduled.find(id);
  }

  /** Deletes a waiting task of an ON_DEMAND request. */
  @Delete('task/:scheduledTaskId')
  remove(@Param('scheduledTaskId', PendingTaskIdPipe) id: string): Promise<PendingTaskDto> {
    return this.scheduled.remove(id);
  }
}
