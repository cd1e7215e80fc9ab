import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { SchedulerError } from '../../platform/errors.js';
import { rootPathOf } from '../../platform/http/context-path.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { GuideFiles } from './guide-files.js';
import { sendStaticFile } from './static-files.js';

/** Nothing but the guide's own script, styles, pictures and search index. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const notBuilt = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Muster guide</title></head>
<body><p>The guide is not built; <code>npm run build</code> makes it. Its pages are the files of <code>docs/</code>.</p></body></html>
`;

/** The documentation, for everybody who reaches the service. */
@ApiExcludeController()
@Controller('guide')
export class GuideController {
  constructor(
    private readonly files: GuideFiles,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Addresses within the guide are relative, so they begin after a slash. */
  @Get()
  start(@Req() request: Request, @Res() response: Response): void {
    const [path] = request.originalUrl.split('?', 1);
    if (!path!.endsWith('/')) return response.redirect(`${rootPathOf(this.settings)}/guide/`);
    if (this.files.isBuilt) return this.send('index.html', request, response);
    response.set({ 'Cache-Control': 'no-cache', 'Content-Security-Policy': contentPolicy }).send(notBuilt);
  }

  @Get('*path')
  below(@Req() request: Request, @Res() response: Response): void {
    this.send([request.params['path'] ?? []].flat().join('/'), request, response);
  }

  private send(name: string, request: Request, response: Response): void {
    const file = this.files.find(name);
    if (!file) throw new SchedulerError('NOT_FOUND', `The guide has no page '${name}'`);
    response.set('Content-Security-Policy', contentPolicy);
    sendStaticFile(request, response, file, name.startsWith('assets/'));
  }
}
