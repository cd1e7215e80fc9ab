import { Module, type DynamicModule } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { PageController, RootController } from './page.controller.js';
import { Assets, CatchAll, PageService } from './page.service.js';

/** The page itself. Its path is that of the module. */
@Module({ controllers: [PageController], providers: [PageService, Assets, CatchAll], exports: [PageService, Assets] })
class PageModule {}

/** What people see who open the service in a browser. */
@Module({ imports: [PageModule], controllers: [RootController] })
export class IndexPageModule {
  /** `path`: where the page is, as the setting ui.path says. */
  static at(path: string): DynamicModule {
    return { module: IndexPageModule, imports: [RouterModule.register([{ path, module: PageModule }])] };
  }
}
