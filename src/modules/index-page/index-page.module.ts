import { Module, type DynamicModule } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { PageModule } from './page.module.js';
import { RootController } from './root.controller.js';

/** What people see who open the service in a browser. */
@Module({ imports: [PageModule], controllers: [RootController] })
export class IndexPageModule {
  /** `path`: where the page is, as the setting ui.path says. */
  static at(path: string): DynamicModule {
    return { module: IndexPageModule, imports: [RouterModule.register([{ path, module: PageModule }])] };
  }
}
