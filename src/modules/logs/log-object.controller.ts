import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { posix } from 'node:path';
import { SchedulerError } from '../../platform/errors.js';
import { Query } from '../../platform/http/inputs.js';
import { Since } from '../../platform/http/since.js';
import { sendFile } from '../../platform/http/send-file.js';
import { LogObjectQuery } from './dto/logs.dto.js';
import { ObjectLinks } from './object-links.service.js';
import { ObjectStore } from './object-store.service.js';

@ApiTags('Object store logs')
@Controller('api/logs')
export class LogObjectController {
  constructor(
    private readonly store: ObjectStore,
    private readonly links: ObjectLinks,
  ) {}

  /**
   * A stored log, by a link that a list or a search has answered; where logs are kept in the data directory. The link says what
   * it opens and until when, and works for all who have it. Ranges and conditions on the ETag are honoured.
   */
  @Get('object')
  @Since('muster')
  @ApiProduces('*/*')
  @ApiOkResponse({ schema: { type: 'string', format: 'binary' } })
  async object(@Query() link: LogObjectQuery, @Req() request: Request, @Res() response: Response): Promise<void> {
    const { bucket, key, expires, attachment = false, signature } = link;
    this.store.configured();
    await this.links.check({ bucket, key, expires, attachment }, signature);
    const file = await this.store.folder?.open(bucket, key);
    if (!file) throw new SchedulerError('FILE_NOT_FOUND', 'There is no such log any more');
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new SchedulerError('FILE_NOT_FOUND', 'There is no such log any more');
      const name = posix.basename(key);
      if (attachment) response.attachment(name).type('application/octet-stream');
      else response.type(shownAs(name));
      // What a task wrote is not ours: it may look like a page, but runs no script and has no origin.
      response.set('Content-Security-Policy', 'sandbox');
      await sendFile(request, response, {
        name,
        size: stats.size,
        mtime: Math.floor(stats.mtimeMs),
        open: (offset, length) =>
          Promise.resolve(file.createReadStream({ start: offset, end: offset + length - 1, autoClose: false })),
      });
    } finally {
      await file.close();
    }
  }
}

/** Logs are called as they like: what is not known is text. */
const shownAs = (name: string): string => (/\.(gz|bz2?|xz|zst|zip)$/.test(name) ? posix.extname(name) : 'text/plain');
