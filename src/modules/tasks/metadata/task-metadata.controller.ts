import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { NeedsAction } from '../../../platform/actions/needs-action.js';
import { CallerUser, type Caller } from '../../../platform/http/caller.js';
import { Body } from '../../../platform/http/inputs.js';
import { TaskIdPipe } from '../../../platform/http/task-id.pipe.js';
import { TaskMetadataRequestDto } from './task-metadata.dto.js';
import { TaskMetadataService } from './task-metadata.service.js';

@ApiTags('Tasks')
@Controller('api/tasks')
export class TaskMetadataController {
  constructor(private readonly metadata: TaskMetadataService) {}

  /** Attaches a note to a task, to be shown with its history. */
  @Post('task/:taskId/metadata')
  @HttpCode(204)
  @NeedsAction('ADD_METADATA')
  add(
    @Param('taskId', TaskIdPipe) taskId: string,
    @Body() note: TaskMetadataRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<void> {
    return this.metadata.add(taskId, note, caller);
  }
}
