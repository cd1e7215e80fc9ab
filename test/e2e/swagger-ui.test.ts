import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Browser } from 'playwright-core';
import { hasBrowser, startBrowser } from './support/browser.js';
import { Installation, type Instance } from './support/product.js';

describe.runIf(hasBrowser)('Swagger UI in a browser', () => {
  const installation = new Installation();
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
