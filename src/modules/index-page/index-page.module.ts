import { Module, type DynamicModule } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { DashboardFiles, dashboardFolder } from './dashboard-files.js';
import { PageController, RootController } from './page.controller.js';
import { CatchAll, PageService } from './page.service.js';

/** The page itself. Its path is that of the module. */
@Module({ controllers: [PageController], providers: [PageService, CatchAll], exports: [PageService] })
class PageModule {}

/** The page for people who open the service in a browser. */
@Module({ controllers: [RootController] })
export class IndexPageModule {
  /** `path`: where the page is, as the setting ui.path says; `folder`: where the dashboard was built. */
  static at(path: string, folder = dashboardFolder()): DynamicModule {
    const files = { provide: DashboardFiles, useFactory: () => new DashboardFiles(folder) };
    const page = { module: PageModule, providers: [files], exports: [DashboardFiles] };
    return { module: IndexPageModule, imports: [page, RouterModule.register([{ path, module: PageModule }])] };
  }
}
