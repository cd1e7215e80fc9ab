import { Module } from '@nestjs/common';
import { Assets } from './assets.service.js';
import { CatchAll } from './catch-all.service.js';
import { PageController } from './page.controller.js';
import { PageService } from './page.service.js';

/** The page itself. Its path is that of the module. */
@Module({ controllers: [PageController], providers: [PageService, Assets, CatchAll], exports: [PageService, Assets] })
export class PageModule {}
