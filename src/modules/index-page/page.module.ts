import { Module } from '@nestjs/common';
import { Assets } from './assets.service.js';
import { PageController } from './page.controller.js';
import { PageService } from './page.service.js';

/** The page itself. Its path is that of the module. */
@Module({ controllers: [PageController], providers: [PageService, Assets], exports: [PageService, Assets] })
export class PageModule {}
