import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Assets } from './assets.service.js';
import { toIndexView } from './index-view.js';
import { renderPage } from './render-page.js';

/** The page: the same for everybody, so it is made once. */
@Injectable()
export class PageService {
  readonly html: string;
  /** Path of the page itself. */
  readonly root: string;

  constructor(@Inject(SETTINGS) settings: Settings, assets: Assets) {
    const view = toIndexView(settings, assets.names);
    this.root = view.appRoot;
    this.html = renderPage(view);
  }
}
