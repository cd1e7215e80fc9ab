import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { hasBrowser, startBrowser } from '../e2e/support/browser.js';
import { Api } from '../e2e/support/api.js';
import { Installation } from '../e2e/support/product.js';
import { waitFor } from '../support/wait-for.js';
import { machines, makeScene, type Scene, sceneSettings } from './scene.js';

const themes = ['light', 'dark'] as const;
type Theme = (typeof themes)[number];
const widths = { wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 740 } } as const;
const longestMillis = 20_000;

const pagesOf = ({ failedTask, flow, task }: Scene): Readonly<Record<string, string>> => ({
  requests: 'requests',
  'requests-failing': 'requests?state=failing',
  'request-new': 'requests/new',
  request: 'request/shop-web',
  'request-failed': 'request/shop-payments',
  'request-edit': 'requests/edit/report-sales',
  'request-flow': 'request/clean-prices?tab=flow',
  'request-backfills': 'request/report-sales?tab=backfills',
  flow: `flows/${encodeURIComponent(flow)}`,
  'request-deploying': 'request/shop-basket',
  'request-waiting': 'request/train-model',
  'request-job': 'request/report-sales',
  'request-deploys': 'request/shop-payments?tab=deploys',
  'request-history': 'request/report-sales?tab=history',
  'request-usage': 'request/shop-web?tab=usage',
  'deploy-form': 'request/image-resizer/deploy',
  deploy: 'request/shop-payments/deploy/v42',
  task: `task/${task}`,
  'task-failed': `task/${failedTask}`,
  files: `task/${task}/files/`,
  log: `task/${task}/tail/stdout`,
  'log-merged': 'request/shop-web/tail/stdout',
  tasks: 'tasks',
  'tasks-scheduled': 'tasks?state=scheduled',
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
  group: 'group/shop',
  mail: 'mail',
  audit: 'audit',
  tokens: 'tokens',
  preferences: 'preferences',
});

/** What somebody has begun to do on a page. */
const begun: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  'deploy-form': async (page) => {
    await page.getByLabel('Memory in MB').fill('1024');
    await page.getByLabel('Environment').fill('QUALITY=90');
    await page.getByLabel('Message').fill('sharper pictures');
    await page.getByRole('row', { name: 'QUALITY' }).waitFor({ timeout: longestMillis });
    await page.getByLabel('Message').blur();
    await page.evaluate('scrollTo(0, 0)');
  },
};

/** Pictures of README.md and docs/dashboard.md, by their file: the page, and the part of it that says something. */
const documented: Readonly<Record<string, { page: string; theme: Theme; height: number }>> = {
  requests: { page: 'requests', theme: 'light', height: 760 },
  'failed-deploy': { page: 'request-failed', theme: 'light', height: 600 },
  log: { page: 'log', theme: 'dark', height: 640 },
  'deploy-plan': { page: 'deploy-form', theme: 'light', height: 800 },
  schedules: { page: 'schedules', theme: 'light', height: 620 },
  machines: { page: 'machines', theme: 'dark', height: 780 },
  task: { page: 'task-failed', theme: 'light', height: 700 },
  status: { page: 'status', theme: 'dark', height: 720 },
};
const documentedWidth = 1_200;
/** Pixels of the file for each of the page, and how close it is to what was seen, of 100. */
const documentedScale = 1.5;
const documentedQuality = 80;
const imagesFolder = fileURLToPath(new URL('../../docs/images', import.meta.url));

interface Picture {
  readonly file: string;
  readonly page: string;
  readonly theme: Theme;
  readonly viewport: { width: number; height: number };
}

const isChosen = (name: string, only: readonly string[]): boolean => only.length === 0 || only.includes(name);

/** A picture of each page in each look, as PNG. */
const everyPicture = (directory: string, pages: readonly string[]): Picture[] =>
  themes.flatMap((theme) =>
    Object.entries(widths).flatMap(([width, viewport]) =>
      pages.map((page) => ({ file: join(directory, `${page}-${width}-${theme}.png`), page, theme, viewport })),
    ),
  );

const documentedPictures = (only: readonly string[]): Picture[] =>
  Object.entries(documented)
    .filter(([name]) => isChosen(name, only))
    .map(([name, { page, theme, height }]) => ({
      file: join(imagesFolder, `${name}.webp`),
      page,
      theme,
      viewport: { width: documentedWidth, height },
    }));

/**
 * `npm run screenshots`: of these pages or all; with --docs in place of a directory, the pictures of the documentation, of these names or
 * all. Answers the exit code: 0 when each page was shown and none complained.
 */
export async function main([first = 'screenshots', ...only]: string[]): Promise<number> {
  if (!hasBrowser) return 1;
  const isForDocs = first === '--docs';
  const directory = isForDocs ? imagesFolder : resolve(first);
  mkdirSync(directory, { recursive: true });
  const installation = new Installation({ local: { slaves: machines }, settings: sceneSettings });
  const browser = await startBrowser();
  try {
    const muster = await installation.start();
    await muster.leads();
    const pages = pagesOf(await makeScene(new Api(muster.api.url)));
    const chosen = Object.keys(pages).filter((name) => isChosen(name, only));
    const pictures = isForDocs ? documentedPictures(only) : everyPicture(directory, chosen);
    const complaints: string[] = [];
    for (const picture of pictures)
      await take(browser, picture, `${muster.api.url}/ui/${pages[picture.page]!}`, complaints);
    console.log(`${pictures.length} pictures: ${directory}`);
    for (const complaint of new Set(complaints)) console.log(complaint);
    return complaints.length === 0 ? 0 : 1;
  } finally {
    await browser.close();
    await installation.dispose();
  }
}

async function take(browser: Browser, picture: Picture, address: string, complaints: string[]): Promise<void> {
  const { file, theme, viewport } = picture;
  const isForDocs = file.endsWith('.webp');
  const deviceScaleFactor = isForDocs ? documentedScale : 1;
  const context = await browser.newContext({ colorScheme: theme, viewport, deviceScaleFactor });
  try {
    const page = await open(context, address, complaints);
    await begun[picture.page]?.(page);
    const hasSidewaysScroll = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
    if (hasSidewaysScroll) complaints.push(`${address}: it scrolls sideways at ${viewport.width} pixels`);
    if (!isForDocs) return void (await page.screenshot({ path: file }));
    const session = await context.newCDPSession(page);
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: documentedQuality });
    writeFileSync(file, Buffer.from(data, 'base64'));
  } finally {
    await context.close();
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
