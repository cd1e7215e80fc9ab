import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { BrowserContext, Page, Request } from 'playwright-core';
import { hasBrowser, startBrowser } from '../e2e/support/browser.js';
import { Api } from '../e2e/support/api.js';
import { Installation } from '../e2e/support/product.js';
import { waitFor } from '../support/wait-for.js';
import { makeScene, type Scene } from './scene.js';

const themes = ['light', 'dark'] as const;
const widths = { wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 740 } } as const;
const longestMillis = 20_000;

const pagesOf = ({ failedTask, flow, task }: Scene): Readonly<Record<string, string>> => ({
  requests: 'requests',
  'requests-failing': 'requests?state=failing',
  'request-new': 'requests/new',
  request: 'request/web',
  'request-failed': 'request/shop-payments',
  'request-edit': 'requests/edit/report',
  'request-flow': 'request/clean-prices?tab=flow',
  'request-backfills': 'request/report?tab=backfills',
  flow: `flows/${encodeURIComponent(flow)}`,
  'request-deploys': 'request/web?tab=deploys',
  'request-history': 'request/report?tab=history',
  'deploy-form': 'request/web/deploy',
  deploy: 'request/web/deploy/v1',
  task: `task/${task}`,
  'task-failed': `task/${failedTask}`,
  files: `task/${task}/files/`,
  log: `task/${task}/tail/stdout`,
  'log-merged': 'request/web/tail/stdout',
  tasks: 'tasks',
  'task-search': 'task-search',
  schedules: 'schedules',
  machines: 'slaves',
  racks: 'racks',
  utilization: 'utilization',
  status: 'status',
  'crash-loops': 'crash-loops',
  activity: 'activity',
  disasters: 'disasters',
  webhooks: 'webhooks',
  groups: 'groups',
  mail: 'mail',
  audit: 'audit',
  tokens: 'tokens',
  preferences: 'preferences',
});

/** `npm run screenshots`, of these pages or all. Answers the exit code: 0 when each page was shown and none complained. */
export async function main([directory = 'screenshots', ...only]: string[]): Promise<number> {
  if (!hasBrowser) return 1;
  const target = resolve(directory);
  mkdirSync(target, { recursive: true });
  const installation = new Installation();
  const browser = await startBrowser();
  try {
    const muster = await installation.start();
    await muster.leads();
    const scene = await makeScene(new Api(muster.api.url));
    const complaints: string[] = [];
    const pages = Object.entries(pagesOf(scene)).filter(([name]) => only.length === 0 || only.includes(name));
    for (const colorScheme of themes) {
      for (const [width, viewport] of Object.entries(widths)) {
        const context = await browser.newContext({ colorScheme, viewport });
        for (const [name, path] of pages) {
          const page = await open(context, `${muster.api.url}/ui/${path}`, complaints);
          await page.screenshot({ path: join(target, `${name}-${width}-${colorScheme}.png`) });
          await page.close();
        }
        await context.close();
      }
    }
    console.log(`${pages.length} pages, light and dark, wide and narrow: ${target}`);
    for (const complaint of new Set(complaints)) console.log(complaint);
    return complaints.length === 0 ? 0 : 1;
  } finally {
    await browser.close();
    await installation.dispose();
  }
}

async function open(context: BrowserContext, address: string, complaints: string[]): Promise<Page> {
  const page = await context.newPage();
  page.on('pageerror', ({ message }) => complaints.push(`${address}: ${message}`));
  // The stream of events stays open, so the network is never idle: what else was asked for has to be answered, and what that asks for.
  const unanswered = new Set<Request>();
  page.on('request', (request) => new URL(request.url()).pathname.endsWith('/api/events') || unanswered.add(request));
  page.on('requestfinished', (request) => unanswered.delete(request));
  page.on('requestfailed', (request) => unanswered.delete(request));
  await page.goto(address);
  await page.getByRole('heading', { level: 1 }).first().waitFor({ timeout: longestMillis });
  let quietLooks = 0;
  const isQuiet = async (): Promise<boolean> => {
    const loads = unanswered.size > 0 || (await page.locator('.loading').count()) > 0;
    quietLooks = loads ? 0 : quietLooks + 1;
    return quietLooks > 3;
  };
  await waitFor(`${address} to be whole`, isQuiet, { timeoutMillis: longestMillis, everyMillis: 150 }).catch(() =>
    complaints.push(`${address}: it still loads`),
  );
  return page;
}
