import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CallerUser, MaySeeSecrets } from '../../platform/http/caller.js';
import { Query } from '../../platform/http/inputs.js';
import { TaskIdPipe } from '../../platform/http/task-id.pipe.js';
import { BrowseQuery, FileChunkDto, ReadQuery, SandboxDto } from './dto/sandbox.dto.js';
import { SandboxService } from './sandbox.service.js';

@ApiTags('Sandbox')
@Controller('api/sandbox')
export class SandboxController {
  constructor(private readonly sandbox: SandboxService) {}

  /** Lists a folder of a task, running or ended. */
  @Get(':taskId/browse')
  browse(
    @Param('taskId', TaskIdPipe) taskId: string,
    @Query() { path }: BrowseQuery,
    @MaySeeSecrets() all: boolean,
  ): Promise<SandboxDto> {
    return this.sandbox.browse(taskId, path, all ? 'ALL' : 'OF_TASK');
  }

  /** Reads part of a file of a task. With an offset of -1 it answers how long the file is, which is where a tail begins. */
  @Get(':taskId/read')
  read(
    @Param('taskId', TaskIdPipe) taskId: string,
    @Query() query: ReadQuery,
    @MaySeeSecrets() all: boolean,
    @CallerUser() caller: Caller,
  ): Promise<FileChunkDto> {
    return this.sandbox.read(taskId, query, all ? 'ALL' : 'OF_TASK', caller.id);
  }
}
