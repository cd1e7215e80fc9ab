import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Browser } from 'playwright-core';
import { hasBrowser, startBrowser } from './support/browser.js';
import { Installation, type Instance } from './support/product.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';

describe.runIf(hasBrowser)('Swagger UI in a browser', () => {
  const installation = new Installation({ database: createDatabase });
  let muster: Instance;
  let browser: Browser;
  beforeAll(async () => {
    muster = await installation.start();
    browser = await startBrowser();
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await installation.dispose();
  }, 90_000);

  test("opens, and a 'try it out' call is answered", async () => {
    const page = await browser.newPage();
    await page.goto(`${muster.api.url}/docs`);
    expect(await page.getByRole('link', { name: 'the guide' }).getAttribute('href')).toBe('/guide/');
    await page.locator('#operations-tag-Requests').click();
    const operation = page.locator('.opblock', { has: page.locator('[data-path="/api/requests/ids"]') }).first();
    await operation.locator('.opblock-summary').click();
    await operation.locator('button.try-out__btn').click();
    await operation.locator('button.execute').click();
    const live = operation.locator('.live-responses-table .response');
    await live.locator('.response-col_status').waitFor();
    expect((await live.locator('.response-col_status').innerText()).trim()).toMatch(/^200/);
    expect(await live.locator('.response-col_description').innerText()).toContain('[]');
  }, 60_000);

  test('the filter finds operations by their path, their summary and their group, in any case', async () => {
    const page = await browser.newPage();
    await page.goto(`${muster.api.url}/docs`);
    const filter = page.locator('.operation-filter-input');
    const groups = page.locator('.opblock-tag');
    await groups.first().waitFor();
    const all = await groups.count();
    await filter.fill('ROLLBACK');
    await waitFor('the groups that are found', async () => (await groups.count()) === 1);
    await groups.click();
    await page.locator('[data-path="/api/deploys/request/{requestId}/rollback"]').waitFor();
    expect(await page.locator('.opblock').count()).toBe(1);
    await filter.fill('webhooks');
    await page.locator('#operations-tag-Webhooks').waitFor();
    await filter.fill('');
    await waitFor('all groups', async () => (await groups.count()) === all);
    await page.close();
  }, 60_000);

  test('creates a request from the example that the form offers', async () => {
    const page = await browser.newPage();
    await page.goto(`${muster.api.url}/docs`);
    await page.locator('#operations-tag-Requests').click();
    const operation = page.locator('.opblock-post', { has: page.locator('[data-path="/api/requests"]') }).first();
    await operation.locator('.opblock-summary').click();
    await operation.locator('button.try-out__btn').click();
    await operation.locator('textarea.body-param__text').fill('{"id": "from-the-browser", "requestType": "ON_DEMAND"}');
    await operation.locator('button.execute').click();
    const live = operation.locator('.live-responses-table .response');
    await live.locator('.response-col_status').waitFor();
    expect((await live.locator('.response-col_status').innerText()).trim()).toMatch(/^200/);
    expect(await muster.api.get('requests/ids')).toEqual(['from-the-browser']);
  }, 60_000);
});

describe.runIf(hasBrowser)('Swagger UI with authentication on', () => {
  const bootstrapToken = 'a-token-of-the-first-administrator';
  const auth = { enabled: true, adminGroups: ['admins'], bootstrapToken };
  const installation = new Installation({ database: createDatabase, settings: { auth } });
  let muster: Instance;
  let browser: Browser;
  beforeAll(async () => {
    muster = await installation.start();
    browser = await startBrowser();
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await installation.dispose();
  }, 90_000);

  test.each([
    ['its text alone', bootstrapToken],
    ['the word before it', `Token ${bootstrapToken}`],
  ])(
    'a token given to Authorize as %s goes with the calls that are tried',
    async (_how, text) => {
      const page = await browser.newPage();
      await page.goto(`${muster.api.url}/docs`);
      await page.locator('#operations-tag-Requests').click();
      const operation = page.locator('.opblock', { has: page.locator('[data-path="/api/requests/ids"]') }).first();
      await operation.locator('.opblock-summary').click();
      await operation.locator('button.try-out__btn').click();
      const execute = async (): Promise<string> => {
        const answered = page.waitForResponse((response) => response.url().endsWith('/api/requests/ids'));
        await operation.locator('button.execute').click();
        return String((await answered).status());
      };
      expect(await execute()).toBe('401');

      await page.locator('.scheme-container button.authorize').click();
      const dialog = page.locator('.dialog-ux .auth-container').filter({ has: page.locator('#api_key_value') });
      await dialog.locator('#api_key_value').fill(text);
      await dialog.locator('button.authorize').click();
      await page.locator('.dialog-ux button.btn-done').first().click();

      expect(await execute()).toBe('200');
      const live = operation.locator('.live-responses-table .response');
      await live.locator('.response-col_status', { hasText: '200' }).waitFor();
      expect(await live.locator('.response-col_description').innerText()).toContain('[]');
      await page.close();
    },
    60_000,
  );

  test('the document says which operations need what', async () => {
    const response = await fetch(`${muster.api.url}/docs/openapi.json`);
    const document = (await response.json()) as {
      security: object[];
      components: { securitySchemes: Record<string, object> };
      paths: Record<string, Record<string, { security?: object[] }>>;
    };
    expect(document.security).toEqual([{ token: [] }, { bearer: [] }]);
    expect(document.components.securitySchemes).toMatchObject({
      token: { type: 'apiKey', in: 'header', name: 'Authorization' },
      bearer: { type: 'http', scheme: 'bearer' },
    });
    expect(document.paths['/api/requests']!['get']!.security).toBeUndefined();
    expect(document.paths['/healthz']!['get']!.security).toEqual([]);
  });
});
