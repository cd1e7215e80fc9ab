import { Module, type DynamicModule } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { DashboardFiles } from './dashboard-files.js';
import { GuideController } from './guide.controller.js';
import { GuideFiles } from './guide-files.js';
import { PageController, RootController } from './page.controller.js';
import { CatchAll, PageService } from './page.service.js';
import { builtFolder } from './static-files.js';

/** The page itself. Its path is that of the module. */
@Module({ controllers: [PageController], providers: [PageService, CatchAll], exports: [PageService] })
class PageModule {}

/** The pages for people who open the service in a browser. */
@Module({ controllers: [RootController, GuideController] })
export class IndexPageModule {
  /** `path`: where the page is, as the setting ui.path says; `built`: where the builds of both are. */
  static at(
    path: string,
    built = { dashboard: builtFolder('muster-dashboard'), guide: builtFolder('muster-guide') },
  ): DynamicModule {
    const files = { provide: DashboardFiles, useFactory: () => new DashboardFiles(built.dashboard) };
    const page = { module: PageModule, providers: [files], exports: [DashboardFiles] };
    return {
      module: IndexPageModule,
      imports: [page, RouterModule.register([{ path, module: PageModule }])],
      providers: [{ provide: GuideFiles, useFactory: () => new GuideFiles(built.guide) }],
    };
  }
}
