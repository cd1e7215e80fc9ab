import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Express, Response } from 'express';
import { rootOf } from '../../platform/http/context-path.js';
import { pathsOfTheService } from '../../platform/settings/page-settings.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { usualFilesPort } from '../../platform/settings/task-files-settings.js';
import type { IndexViewDto } from './dto/index-view.dto.js';

/** Names of the files that the page needs. */
type AssetNames = Pick<IndexViewDto, 'appJsPath' | 'appCssPath' | 'vendorJsPath'>;

/** What the page is told about this installation. */
export function toIndexView(settings: Settings, assets: AssetNames): IndexViewDto {
  const { cluster, ui } = settings;
  const base = rootOf(settings);
  return {
    appRoot: `${base}/${ui.path}`,
    apiDocs: ui.apiDocs ?? `${base}/docs`,
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
    quickLinks: JSON.stringify(ui.quickLinks),
    navTitleLinks: JSON.stringify(ui.navTitleLinks),
    lessTerminalPath: ui.lessTerminalPath,
    ...assets,
  };
}

interface Asset {
  body: Buffer;
  type: string;
}

/** The files of the page, under names that change with their content, so that browsers may keep them. */
@Injectable()
export class Assets {
  readonly names: AssetNames;
  private readonly byName = new Map<string, Asset>();

  constructor() {
    this.names = {
      appJsPath: this.load('app.js', 'text/javascript; charset=utf-8'),
      vendorJsPath: this.load('vendor.js', 'text/javascript; charset=utf-8'),
      appCssPath: this.load('app.css', 'text/css; charset=utf-8'),
    };
  }

  find(name: string): Asset | undefined {
    return this.byName.get(name);
  }

  private load(file: string, type: string): string {
    const body = readFileSync(new URL(`assets/${file}`, import.meta.url));
    const hash = createHash('sha256').update(body).digest('hex').slice(0, 12);
    const name = file.replace('.', `.${hash}.`);
    this.byName.set(name, { body, type });
    return name;
  }
}

const html = 'text/html; charset=utf-8';

/** The page: the same for every caller, so it is made once. */
@Injectable()
export class PageService {
  private readonly html: string;
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

const sections = [
  { id: 'deploys', title: 'Pending deploys' },
  { id: 'requests', title: 'Requests' },
  { id: 'tasks', title: 'Tasks' },
  { id: 'slaves', title: 'Slaves' },
] as const;

/**
 * The page with everything but its data, which its script asks the API for. There is no script in it, as the content policy
 * wants: what the script has to know stands in a block of data.
 */
export function renderPage(view: IndexViewDto): string {
  const text = escapeHtml;
  const file = (name: string): string => text(`${view.staticRoot}/${name}`);
  const script = (address: string): string => `<script defer src="${address}"></script>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${text(view.title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${file(view.appCssPath)}">
<script type="application/json" id="index-view">${escapeJson(view)}</script>
${script(file(view.vendorJsPath))}
${script(file(view.appJsPath))}
${view.extraScript === '' ? '' : script(text(view.extraScript))}
</head>
<body class="env-color-${text(view.navColor)}">
<a class="skip" href="#main">To the content</a>
<header>
<h1><a href="${text(view.appRoot)}">${text(view.title)}</a></h1>
<nav aria-label="Sections">
${sections.map(({ id, title }) => `<a href="#${id}">${title}</a>`).join('\n')}
</nav>
<nav aria-label="Elsewhere" id="elsewhere"><a href="${text(view.apiDocs)}">Swagger UI</a></nav>
</header>
<main id="main">
<p id="status" role="status">Loading</p>
<noscript><p>This page asks the API for its data, which needs JavaScript. The API itself is described in
<a href="${text(view.apiDocs)}">Swagger UI</a>.</p></noscript>
<dl id="figures" aria-label="The service in figures"></dl>
${sections.map(renderSection).join('\n')}
</main>
</body>
</html>
`;
}

const renderSection = ({
  id,
  title,
}: (typeof sections)[number]): string => `<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
<div class="scroll" tabindex="0" role="group" aria-labelledby="${id}-title"><table><thead></thead><tbody></tbody></table></div>
<p class="note"></p>
</section>`;
