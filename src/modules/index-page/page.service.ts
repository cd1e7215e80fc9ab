import { Inject, Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Assets } from './assets.service.js';
import { toIndexView } from './index-view.js';
import { renderPage } from './render-page.js';

export const html = 'text/html; charset=utf-8';

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

  send(response: Response): void {
    response.set({ 'Content-Type': html, 'Cache-Control': 'no-cache' }).send(this.html);
  }
}
