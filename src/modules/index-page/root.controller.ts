import { Controller, Get, Param, Redirect, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { SchedulerError } from '../../platform/errors.js';
import { Assets } from './assets.service.js';
import { PageService } from './page.service.js';

/** What browsers ask for beside the page itself. */
@ApiExcludeController()
@Controller()
export class RootController {
  constructor(
    private readonly page: PageService,
    private readonly assets: Assets,
  ) {}

  @Get()
  @Redirect()
  home(): { url: string } {
    return { url: this.page.root };
  }

  @Get('static/:name')
  file(@Param('name') name: string, @Res() response: Response): void {
    const asset = this.assets.find(name);
    if (!asset) throw new SchedulerError('NOT_FOUND', `There is no file '${name}'`);
    response.set('Cache-Control', 'public, max-age=31536000, immutable').type(asset.type).send(asset.body);
  }
}
