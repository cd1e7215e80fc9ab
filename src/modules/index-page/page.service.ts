import { createHash } from 'node:crypto';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Express, Response } from 'express';
import { rootPathOf } from '../../platform/http/context-path.js';
import { pathsOfTheService } from '../../platform/settings/page-settings.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { usualFilesPort } from '../../platform/settings/task-files-settings.js';
import { type AssetNames, DashboardFiles } from './dashboard-files.js';
import type { IndexViewDto } from './dto/index-view.dto.js';

/** Data of this installation for the page. */
export function toIndexView(settings: Settings, assets: AssetNames): IndexViewDto {
  const { cluster, ui } = settings;
  const { clientId, signInLabel } = settings.auth.oidc;
  // By its path alone: a browser that came by another name of the service takes nothing from elsewhere.
  const base = rootPathOf(settings);
  return {
    appRoot: `${base}/${ui.path}`,
    apiDocs: ui.apiDocs ?? `${base}/docs`,
    guideRoot: `${base}/guide`,
    staticRoot: ui.staticRoot ?? `${base}/static`,
    apiRoot: ui.apiRoot ?? `${base}/api`,
    navColor: ui.navColor,
    // Older pages read whole numbers; a deploy form may offer a little more than the default, but not less.
    defaultMemory: Math.ceil(cluster.defaultMemory),
    defaultCpus: Math.ceil(cluster.defaultCpus),
    defaultDisk: Math.ceil(cluster.defaultDisk),
    hideNewDeployButton: ui.hideNewDeployButton,
    hideNewRequestButton: ui.hideNewRequestButton,
    loadBalancingEnabled: settings.loadBalancerUri !== undefined,
    title: ui.title,
    slaveHttpPort: ui.slaveHttpPort ?? cluster.local.files?.port ?? usualFilesPort,
    slaveHttpsPort: ui.slaveHttpsPort,
    defaultBounceExpirationMinutes: Math.ceil(settings.defaultBounceExpirationMinutes),
    defaultHealthcheckIntervalSeconds: Math.ceil(settings.healthcheckIntervalSeconds),
    defaultHealthcheckTimeoutSeconds: Math.ceil(settings.healthcheckTimeoutSeconds),
    defaultHealthcheckMaxRetries: settings.healthcheckMaxRetries ?? 0,
    defaultStartupTimeoutSeconds: Math.ceil(settings.startupTimeoutSeconds),
    runningTaskLogPath: ui.runningTaskLogPath,
    finishedTaskLogPath: ui.finishedTaskLogPath,
    commonHostnameSuffixToOmit: settings.commonHostnameSuffixToOmit ?? '',
    taskS3LogOmitPrefix: ui.taskS3LogOmitPrefix,
    warnIfScheduledJobIsRunningPastNextRunPct: settings.warnIfScheduledJobIsRunningPastNextRunPct,
    shellCommands: JSON.stringify(ui.shellCommands),
    shortenSlaveUsageHostname: ui.shortenSlaveUsageHostname,
    timestampFormat: ui.timestampFormat,
    showTaskDiskResource: ui.showTaskDiskResource,
    timestampWithSecondsFormat: ui.timestampWithSecondsFormat,
    redirectOnUnauthorizedUrl: ui.redirectOnUnauthorizedUrl,
    extraScript: ui.extraScript,
    generateAuthHeader: ui.generateAuthHeader,
    authCookieName: ui.authCookieName,
    authTokenKey: ui.authTokenKey,
    ...(clientId !== undefined && { signInUrl: `${base}/api/auth/oidc/sign-in`, signInLabel }),
    quickLinks: JSON.stringify(ui.quickLinks),
    navTitleLinks: JSON.stringify(ui.navTitleLinks),
    lessTerminalPath: ui.lessTerminalPath,
    ...assets,
  };
}

const html = 'text/html; charset=utf-8';

/** Nothing but the dashboard's own files, the API and pictures in the page itself; it makes no markup of text. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** The page: the same for every caller, so it is made once. */
@Injectable()
export class PageService {
  private readonly html: string;
  /** Path of the page itself. */
  readonly root: string;
  private readonly headers: Readonly<Record<string, string>>;

  constructor(@Inject(SETTINGS) settings: Settings, files: DashboardFiles) {
    const view = toIndexView(settings, files.names);
    this.root = view.appRoot;
    this.html = renderPage(view, files.imports);
    // An open page asks for it, to learn that there is another version.
    const tag = createHash('sha256').update(this.html).digest('base64url');
    this.headers = {
      'Content-Type': html,
      'Cache-Control': 'no-cache',
      'Content-Security-Policy': contentPolicy,
      ETag: `"${tag}"`,
    };
  }

  send(response: Response): void {
    response.set(this.headers).send(this.html);
  }
}

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

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** Text as a part of HTML, between tags or as the value of an attribute in quotes. */
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!);

/** JSON that nothing in it can end early: neither an end tag nor a comment, whatever the settings say. */
const escapeJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });

/**
 * The page without any data: the dashboard asks the API for that. There is no script in it, as the content policy wants: what the
 * dashboard has to know stands in a block of data.
 */
export function renderPage(view: IndexViewDto, imports: readonly string[]): string {
  const text = escapeHtml;
  const file = (name: string): string => text(`${view.staticRoot}/${name}`);
  const docs = `<a href="${text(view.apiDocs)}">Swagger UI</a>`;
  const isBuilt = view.appJsPath !== '';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${text(view.title)}</title>
<link rel="icon" href="data:,">
<script type="application/json" id="index-view">${escapeJson(view)}</script>
${isBuilt ? `<link rel="stylesheet" href="${file(view.appCssPath)}">` : ''}
${imports.map((name) => `<link rel="modulepreload" href="${file(name)}">`).join('\n')}
${isBuilt ? `<script type="module" src="${file(view.appJsPath)}"></script>` : ''}
${view.extraScript === '' ? '' : `<script defer src="${text(view.extraScript)}"></script>`}
</head>
<body class="env-color-${text(view.navColor)}">
<div id="app">${isBuilt ? '' : `<p>The dashboard is not built; npm run build makes it. The API is described in ${docs}.</p>`}</div>
<noscript><p>The dashboard needs JavaScript. The API is described in ${docs}.</p></noscript>
</body>
</html>
`;
}
