import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiExtraModels, ApiOkResponse, ApiParam, ApiTags } from '@nestjs/swagger';
import { ShownAt } from '../../platform/http/shown-at.js';
import { IndexViewDto } from './dto/index-view.dto.js';
import { html, PageService } from './page.service.js';

/** Below the path that the settings name. */
@ApiTags('Index page')
@ApiExtraModels(IndexViewDto)
@Controller()
export class PageController {
  constructor(private readonly page: PageService) {}

  /** The page for people, built from IndexView. Paths below it answer the same. */
  @Get()
  @Header('Content-Type', html)
  @Header('Cache-Control', 'no-cache')
  @ShownAt('/{uiPath}')
  @ApiParam({ name: 'uiPath', description: 'As the setting ui.path says.', schema: { type: 'string', default: 'ui' } })
  @ApiOkResponse({ content: { 'text/html': { schema: { type: 'string' } } } })
  show(): string {
    return this.page.html;
  }

  /** Where the page will show single requests, tasks, and so on. */
  @Get('*path')
  @Header('Content-Type', html)
  @Header('Cache-Control', 'no-cache')
  @ApiExcludeEndpoint()
  below(): string {
    return this.page.html;
  }
}
