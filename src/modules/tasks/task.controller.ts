import { Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiConflictResponse, ApiTags } from '@nestjs/swagger';
import { CallerUser, type Caller } from '../../platform/http/caller.js';
import { Body } from '../../platform/http/inputs.js';
import { KillConflictDto, KillTaskRequestDto, TaskCleanupDto } from './dto/task-cleanup.dto.js';
import { TaskStatisticsDto, TaskDto } from './dto/task.dto.js';
import { TaskIdPipe } from '../../platform/http/task-id.pipe.js';
import { TaskKills } from './task-kills.service.js';
import { TaskReads } from './task-reads.service.js';

@ApiTags('Tasks')
@Controller('api/tasks')
export class TaskController {
  constructor(
    private readonly tasks: TaskReads,
    private readonly kills: TaskKills,
  ) {}

  /** Shows one active task. */
  @Get('task/:taskId')
  find(@Param('taskId', TaskIdPipe) taskId: string): Promise<TaskDto> {
    return this.tasks.find(taskId);
  }

  /** Kills an active task. Answers the cleanup that was ordered; one ordered before is replaced only by override. */
  @Delete('task/:taskId')
  @ApiConflictResponse({ type: KillConflictDto, description: 'It has a cleanup already, or the action is disabled.' })
  kill(
    @Param('taskId', TaskIdPipe) taskId: string,
    @Body() options: KillTaskRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<TaskCleanupDto> {
    return this.kills.kill(taskId, options, caller);
  }

  /** Shows why an active task has to go. */
  @Get('task/:taskId/cleanup')
  cleanup(@Param('taskId', TaskIdPipe) taskId: string): Promise<TaskCleanupDto> {
    return this.tasks.cleanup(taskId);
  }

  /** Shows what an active task uses right now. */
  @Get('task/:taskId/statistics')
  statistics(@Param('taskId', TaskIdPipe) taskId: string): Promise<TaskStatisticsDto> {
    return this.tasks.statistics(taskId);
  }

  /** Compares what is known of an active task with what its machine says. */
  @Post('reconcile/:taskId')
  @HttpCode(200)
  reconcile(@Param('taskId', TaskIdPipe) taskId: string): Promise<void> {
    return this.tasks.reconcile(taskId);
  }
}
