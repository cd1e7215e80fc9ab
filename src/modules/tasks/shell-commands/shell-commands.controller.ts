import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import { NeedsAction } from '../../../platform/actions/needs-action.js';
import { CallerUser, type Caller } from '../../../platform/http/caller.js';
import { Body } from '../../../platform/http/inputs.js';
import { ShellCommandDto } from '../../requests/dto/actions.dto.js';
import { TaskIdPipe } from '../../../platform/http/task-id.pipe.js';
import {
  TaskShellCommandHistoryDto,
  TaskShellCommandRequestDto,
  TaskShellCommandUpdateDto,
} from './dto/shell-command.dto.js';
import { ShellCommands } from './shell-commands.service.js';

@ApiTags('Tasks')
@Controller('api/tasks')
export class ShellCommandsController {
  constructor(private readonly commands: ShellCommands) {}

  /** Lists the shell commands that have not been sent to their machines yet. */
  @Get('commands/queued')
  queued(): Promise<TaskShellCommandRequestDto[]> {
    return this.commands.queued();
  }

  /** Lists the shell commands of a task that were sent to its machine, and what became of them. */
  @Get('task/:taskId/command')
  ofTask(@Param('taskId', TaskIdPipe) taskId: string): Promise<TaskShellCommandHistoryDto[]> {
    return this.commands.ofTask(taskId);
  }

  /** Runs a configured shell command in an active task. */
  @Post('task/:taskId/command')
  @HttpCode(200)
  @NeedsAction('RUN_SHELL_COMMAND')
  run(
    @Param('taskId', TaskIdPipe) taskId: string,
    @Body() command: ShellCommandDto,
    @CallerUser() caller: Caller,
  ): Promise<TaskShellCommandRequestDto> {
    return this.commands.run(taskId, command, caller);
  }

  /** Lists what became of one shell command of a task, which its name and time name. */
  @Get('task/:taskId/command/:commandName/:commandTimestamp')
  @ApiParam({ name: 'commandTimestamp', schema: { type: 'integer', format: 'int64' } })
  updates(
    @Param('taskId', TaskIdPipe) taskId: string,
    @Param('commandName') commandName: string,
    @Param('commandTimestamp') commandTimestamp: number,
  ): Promise<TaskShellCommandUpdateDto[]> {
    return this.commands.updates(taskId, commandName, commandTimestamp);
  }
}
