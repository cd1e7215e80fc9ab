import { Controller, Get, Inject, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Assets } from './assets.service.js';
import { PageService } from './page.service.js';

/** What browsers ask for beside the page itself. */
@ApiExcludeController()
@Controller()
export class RootController {
  constructor(
    private readonly page: PageService,
    private readonly assets: Assets,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Get()
  home(@Res() response: Response): void {
    if (this.settings.ui.rootUrlMode === 'DISABLED') throw new SchedulerError('NOT_FOUND', 'There is nothing at /');
    if (this.settings.ui.rootUrlMode === 'INDEX_CATCHALL') return this.page.send(response);
    response.redirect(this.page.root);
  }

  @Get('static/:name')
  file(@Param('name') name: string, @Res() response: Response): void {
    const asset = this.assets.find(name);
    if (!asset) throw new SchedulerError('NOT_FOUND', `There is no file '${name}'`);
    response.set('Cache-Control', 'public, max-age=31536000, immutable').type(asset.type).send(asset.body);
  }
}
