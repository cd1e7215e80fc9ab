import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Express } from 'express';
import { pathsOfTheService } from '../../platform/settings/page-settings.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { PageService } from './page.service.js';

/** With the page below every unknown path, a client of the API must still not take it for an answer. */
const elsewhere = new RegExp(`^/(?!(?:${pathsOfTheService.join('|')})(?:/|$))`);

/** Answers the page at paths that nothing else has, where ui.rootUrlMode is INDEX_CATCHALL. */
@Injectable()
export class CatchAll implements OnModuleInit {
  constructor(
    private readonly page: PageService,
    private readonly adapter: HttpAdapterHost,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** By now all routes are there; this one has to come after them. */
  onModuleInit(): void {
    if (this.settings.ui.rootUrlMode !== 'INDEX_CATCHALL') return;
    const express = this.adapter.httpAdapter.getInstance() as Express;
    express.get(elsewhere, (_request, response) => this.page.send(response));
  }
}
