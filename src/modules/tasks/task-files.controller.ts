import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { posix } from 'node:path';
import { isOnlySent } from '../../platform/http/admission.js';
import { MaySeeSecrets } from '../../platform/http/caller.js';
import { Query } from '../../platform/http/inputs.js';
import { sendFile } from '../../platform/http/send-file.js';
import { SlaveFileQuery } from './dto/task.dto.js';
import { TaskFiles } from './task-files.service.js';

const binary = { schema: { type: 'string', format: 'binary' } } as const;

@ApiTags('Tasks')
@Controller('api/tasks')
export class TaskFilesController {
  constructor(private readonly files: TaskFiles) {}

  /** Downloads a file of a task. Ranges and conditions on the ETag are honoured. */
  @Get('download')
  @ApiProduces('application/octet-stream')
  @ApiOkResponse(binary)
  async download(
    @Query() query: SlaveFileQuery,
    @MaySeeSecrets() all: boolean,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const file = await this.files.find(query.slaveHostname, query.path, all ? 'ALL' : 'OF_TASK');
    response.attachment(file.name).type('application/octet-stream');
    isOnlySent(request);
    await sendFile(request, response, file);
  }

  /** Shows a file of a task in the browser, in the type that its name suggests. */
  @Get('open')
  @ApiProduces('*/*')
  @ApiOkResponse(binary)
  async open(
    @Query() query: SlaveFileQuery,
    @MaySeeSecrets() all: boolean,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const file = await this.files.find(query.slaveHostname, query.path, all ? 'ALL' : 'OF_TASK');
    response.type(posix.extname(file.name) || 'text/plain');
    // What a task wrote is not ours: it may look like a page, but runs no script and has no origin.
    response.set('Content-Security-Policy', 'sandbox');
    isOnlySent(request);
    await sendFile(request, response, file);
  }
}
