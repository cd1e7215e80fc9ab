import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { hasBrowser, startBrowser } from './support/browser.js';
import { Installation, type Instance } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

describe.runIf(hasBrowser)('the page in a browser', () => {
  const installation = new Installation({
    database: createDatabase,
    settings: { ui: { title: 'East <1>', navColor: 'green' } },
  });
  let muster: Instance;
  let browser: Browser;
  beforeAll(async () => {
    muster = await installation.start();
    await muster.leads();
    browser = await startBrowser();
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await installation.dispose();
  }, 90_000);

  /** Whatever the browser complains about: broken scripts, refused ones, files that are not there. */
  const complaints: string[] = [];
  async function open(path: string, options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
    const page = await browser.newPage(options);
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${muster.api.url}${path}`);
    return page;
  }

  test('shows requests, tasks, slaves and pending deploys as they come and go', async () => {
    const page = await open('/');
    expect(new URL(page.url()).pathname).toBe('/ui');
    expect(await page.title()).toBe('East <1>');
    await page.getByText('There are no requests.').waitFor();
    await page.getByText('No deploy is in progress.').waitFor();
    await page.locator('#slaves').getByRole('cell', { name: 'slave1' }).waitFor();

    const { api } = muster;
    await api.post('requests', { id: 'web', requestType: 'SERVICE', instances: 1 });
    // Never healthy by itself, so that the deploy can be seen.
    const resources = { cpus: 1, memoryMb: 64, numPorts: 1 };
    const healthcheck = { uri: '/', startupTimeoutSeconds: 600 };
    await api.post('deploys', {
      deploy: { requestId: 'web', id: 'v1', command: 'sleep 600', resources, healthcheck },
    });
    await page.locator('#requests').getByRole('link', { name: 'web' }).waitFor();
    await api.post('requests', {
      id: 'nightly',
      requestType: 'SCHEDULED',
      schedule: '30 4 1 1 *',
      scheduleTimeZone: 'Asia/Tokyo',
    });
    const { nextRuns } = await api.get<{ nextRuns: { utc: string; local: string }[] }>('requests/request/nightly');
    const shown = nextRuns.map(({ utc, local }) => `${utc} (${local} Asia/Tokyo)`);
    const cell = page.locator('#requests td', { hasText: shown[0]! });
    await cell.waitFor();
    expect(shown[0]).toMatch(/-12-31T19:30:00.000Z \(\d{4}-01-01T04:30:00\+09:00 /);
    expect(await cell.getByText(shown[4]!).isVisible()).toBe(false);
    await cell.locator('summary').click();
    await cell.getByText(shown[4]!).waitFor();
    // The table is drawn anew when anything in it changes; what was unfolded stays so.
    await api.post('requests', { id: 'other', requestType: 'ON_DEMAND' });
    await page.locator('#requests').getByRole('link', { name: 'other' }).waitFor();
    expect(await cell.getByText(shown[4]!).isVisible()).toBe(true);
    await api.call('DELETE', 'requests/request/other');
    await api.call('DELETE', 'requests/request/nightly');
    await api.post('requests', { id: 'big', requestType: 'SERVICE', instances: 1 });
    const deploy = { requestId: 'big', id: 'b1', command: 'x', resources: { cpus: 49, memoryMb: 1 } };
    await api.post('deploys', { deploy });
    await page.locator('#deploys').getByText('the task asks for 49 cores').waitFor();
    await api.call('DELETE', 'requests/request/big');
    await page.locator('#deploys').getByRole('cell', { name: 'v1' }).waitFor();
    await page
      .locator('#tasks')
      .getByRole('link', { name: /^web-v1-/ })
      .waitFor();
    expect(await page.locator('#status').innerText()).toBe('Up to date');

    await api.call('DELETE', 'requests/request/web');
    await page.getByText('No task is active.').waitFor();
    await page.getByText('There are no requests.').waitFor();
    expect(complaints).toEqual([]);
  }, 90_000);

  test('leads to Swagger UI, from wherever below its path it was opened', async () => {
    const page = await open('/ui/request/web');
    await page.getByText('Up to date').waitFor();
    await page.getByRole('link', { name: 'Swagger UI' }).click();
    await page.locator('#operations-tag-Requests').waitFor();
    expect(complaints).toEqual([]);
  }, 60_000);

  test('is dark where people prefer that', async () => {
    const background = async (colorScheme: 'dark' | 'light'): Promise<number> => {
      const page = await open('/ui', { colorScheme });
      const color = await page.evaluate('getComputedStyle(document.body).backgroundColor');
      return Number(/\d+/.exec(String(color))![0]);
    };
    expect(await background('dark')).toBeLessThan(64);
    expect(await background('light')).toBeGreaterThan(192);
  }, 60_000);

  test('says so when the service does not answer, keeps what it shows, and goes on when it is back', async () => {
    const page = await open('/ui');
    await page.locator('#slaves').getByRole('cell', { name: 'slave1' }).waitFor();
    await page.route('**/api/**', (route) => route.abort());
    await page.getByText('The service does not answer').waitFor();
    expect(await page.locator('#slaves').getByRole('cell', { name: 'slave1' }).isVisible()).toBe(true);
    await page.unroute('**/api/**');
    await page.getByText('Up to date').waitFor();
  }, 60_000);
});
