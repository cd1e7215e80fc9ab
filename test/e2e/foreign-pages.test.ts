import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browserArguments, browserPath, hasBrowser } from './support/browser.js';
import { Installation, type Instance } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

const request = JSON.stringify({ id: 'planted', requestType: 'ON_DEMAND' });
const deploy = JSON.stringify({
  deploy: { requestId: 'planted', id: 'v1', command: 'touch /tmp/planted', resources: { cpus: 0.1, memoryMb: 16 } },
});

/** Runs in the page: sends a call in every way in which a page can without asking first, and in the way that asks. */
const attack = `async ([base, path, body]) => {
  const attempts = [
    ['a body without a type', { method: 'POST', mode: 'no-cors', body: new Blob([body]) }],
    ['a text', { method: 'POST', mode: 'no-cors', body }],
    ['a form', { method: 'POST', mode: 'no-cors', body: new URLSearchParams({ [body]: '' }) }],
    ['with credentials', { method: 'POST', mode: 'no-cors', body: new Blob([body]), credentials: 'include' }],
    ['what curl calls a form', {
      method: 'POST', mode: 'no-cors', body, headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }],
    ['JSON, asked for', { method: 'POST', body, headers: { 'content-type': 'application/json' } }],
    ['a deletion, asked for', { method: 'DELETE' }],
    ['without a body', { method: 'POST', mode: 'no-cors' }],
    ['without a referrer', { method: 'POST', mode: 'no-cors', body: new Blob([body]), referrerPolicy: 'no-referrer' }],
  ];
  const read = [];
  for (const [how, init] of attempts) {
    try {
      const answer = await fetch(base + path, init);
      const text = await answer.text();
      if (answer.ok && text !== '') read.push(how + ': ' + text);
    } catch {
      // Refused by the browser, or without a readable answer: what counts is what the service did.
    }
  }
  navigator.sendBeacon(base + path, new Blob([body]));
  const form = document.createElement('form');
  Object.assign(form, { method: 'post', action: base + path, enctype: 'text/plain', target: 'sink' });
  const field = document.createElement('input');
  Object.assign(field, { name: body, value: '' });
  form.append(field);
  const sink = document.createElement('iframe');
  sink.name = 'sink';
  document.body.append(sink, form);
  const loaded = new Promise((resolve) => sink.addEventListener('load', resolve, { once: true }));
  form.submit();
  await Promise.race([loaded, new Promise((resolve) => setTimeout(resolve, 2_000))]);
  return read;
}`;
const attackFrom = (page: Page, base: string, path: string, body: string): Promise<unknown> =>
  page.evaluate(`(${attack})(${JSON.stringify([base, path, body])})`);

describe.runIf(hasBrowser)('a page of another origin, in a browser on the machine of the service', () => {
  const installation = new Installation({ database: createDatabase });
  let muster: Instance;
  let browser: Browser;
  let elsewhere: Server;
  let port: number;
  beforeAll(async () => {
    muster = await installation.start();
    elsewhere = createServer((_request, response) =>
      response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>Elsewhere</title>'),
    ).listen(0, '127.0.0.1');
    await new Promise((resolve) => elsewhere.once('listening', resolve));
    ({ port } = elsewhere.address() as AddressInfo);
    // Both names lead to this machine: that of the page as that of any page may, the other after its name was changed to.
    const rules = `MAP evil.example 127.0.0.1, MAP rebound.example 127.0.0.1`;
    browser = await chromium.launch({
      executablePath: browserPath,
      args: [
        ...browserArguments,
        `--host-resolver-rules=${rules}`,
        // Prompts before a page may reach the local network are no protection to count on.
        '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights',
      ],
    });
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    elsewhere?.close();
    await installation.dispose();
  }, 90_000);

  const open = async (url: string): Promise<Page> => {
    const page = await browser.newPage();
    await page.goto(url);
    return page;
  };

  test.each(['http://evil.example', 'http://127.0.0.1', 'http://localhost'])(
    'at %s changes nothing',
    async (origin) => {
      const page = await open(`${origin}:${port}/`);
      for (const [path, body] of [
        ['/api/requests', request],
        ['/api/deploys', deploy],
        ['/api/disasters/disable', ''],
        ['/api/disasters/failover', ''],
        ['/api/notifications/unsubscribe', 'planted@evil.example'],
      ] as const) {
        expect(await attackFrom(page, muster.api.url, path, body)).toEqual([]);
      }
      expect(await muster.api.get('requests/ids')).toEqual([]);
      expect(await muster.api.get('disasters/disabled-actions')).toEqual([]);
      expect(await muster.api.get('notifications/blacklist')).toEqual([]);
    },
  );

  test('whose name was made to lead to the service reads and changes nothing', async () => {
    const { port: musterPort } = new URL(muster.api.url);
    const page = await browser.newPage();
    const answer = await page.goto(`http://rebound.example:${musterPort}/api/requests`);
    expect(answer!.status()).toBe(421);
    expect(await attackFrom(page, '', '/api/requests', request)).toEqual([]);
    expect(await muster.api.get('requests/ids')).toEqual([]);
  });

  test('and a page of the service itself works', async () => {
    const page = await open(`${muster.api.url}/docs`);
    const status = await page.evaluate(async (body) => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch('/api/requests', { method: 'POST', body, headers })).status;
    }, request);
    expect(status).toBe(200);
    expect(await muster.api.get('requests/ids')).toEqual(['planted']);
  });
});
