import { Controller, Get, Inject, Param, Req, Res } from '@nestjs/common';
import {
  ApiExcludeController,
  ApiExcludeEndpoint,
  ApiExtraModels,
  ApiOkResponse,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { SchedulerError } from '../../platform/errors.js';
import { ShownAt } from '../../platform/http/docs.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { IndexViewDto } from './dto/index-view.dto.js';
import { DashboardFiles } from './dashboard-files.js';
import { PageService } from './page.service.js';
import { sendStaticFile } from './static-files.js';

/** Below the path that the settings name. */
@ApiTags('Index page')
@ApiExtraModels(IndexViewDto)
@Controller()
export class PageController {
  constructor(private readonly page: PageService) {}

  /** The page for people, built from IndexView. Paths below it answer the same. */
  @Get()
  @ShownAt('/{uiPath}')
  @ApiParam({ name: 'uiPath', description: 'As the setting ui.path says.', schema: { type: 'string', default: 'ui' } })
  @ApiOkResponse({ content: { 'text/html': { schema: { type: 'string' } } } })
  show(@Res() response: Response): void {
    this.page.send(response);
  }

  /** Serves the page for the paths at which the dashboard shows single requests, tasks, and so on. */
  @Get('*path')
  @ApiExcludeEndpoint()
  below(@Res() response: Response): void {
    this.page.send(response);
  }
}

/** Files that browsers ask for beside the page itself. */
@ApiExcludeController()
@Controller()
export class RootController {
  constructor(
    private readonly page: PageService,
    private readonly files: DashboardFiles,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Get()
  home(@Res() response: Response): void {
    if (this.settings.ui.rootUrlMode === 'DISABLED') throw new SchedulerError('NOT_FOUND', 'There is nothing at /');
    if (this.settings.ui.rootUrlMode === 'INDEX_CATCHALL') return this.page.send(response);
    response.redirect(this.page.root);
  }

  @Get('static/:name')
  file(@Param('name') name: string, @Req() request: Request, @Res() response: Response): void {
    const file = this.files.find(name);
    if (!file) throw new SchedulerError('NOT_FOUND', `There is no file '${name}'`);
    sendStaticFile(request, response, file, true);
  }
}
