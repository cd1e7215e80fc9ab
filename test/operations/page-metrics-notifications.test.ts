import { expect, test } from 'vitest';
import type { Metric } from '../../src/modules/metrics/metrics.service.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { refusalsOf } from './running-tasks.js';

const operations = operationsOf(['Notifications', 'Metrics', 'Index page']);
const refused = refusalsOf(operations);

test('an address that unsubscribed is on the blacklist until it subscribes again', async () => {
  const blacklist = () => operations.call('GET /api/notifications/blacklist', 200);
  const [unsubscribe, subscribe] = [
    'POST /api/notifications/unsubscribe',
    'POST /api/notifications/subscribe',
  ] as const;
  expect(await blacklist()).toEqual([]);
  await operations.call(unsubscribe, 204, { body: 'me@example.com' });
  await operations.call(unsubscribe, 204, { body: 'Me@Example.com' });
  await operations.call(unsubscribe, 204, { body: 'you@example.com', headers: { 'content-type': 'text/plain' } });
  expect(await blacklist()).toEqual(['me@example.com', 'you@example.com']);
  await operations.call(subscribe, 204, { body: 'me@example.com' });
  await operations.call(subscribe, 204, { body: 'nobody@example.com' });
  expect(await blacklist()).toEqual(['you@example.com']);
  expect(await operations.call('GET /api/notifications/blocklist', 200)).toEqual(['you@example.com']);
  const subscribed = ['me@example.com', 'nobody@example.com'];
  expect(await operations.call('GET /api/notifications/allowlist', 200)).toEqual(subscribed);
  for (const operation of [unsubscribe, subscribe]) {
    expect(await refused(operation, 400, { body: 'me' })).toContain("'me'");
    expect(await refused(operation, 400)).toContain('e-mail address');
    await operations.call(operation, 415, { body: 'me@example.com', headers: { 'content-type': 'text/xml' } });
  }
  expect(await blacklist()).toEqual(['you@example.com']);
});

test('figures are shown by name and labels', async () => {
  const figures = async () =>
    (await operations.call<{ metrics: Record<string, Metric> }>('GET /api/metrics', 200)).metrics;
  expect(await figures()).toMatchObject({ muster_leader: { value: 1 }, muster_database_up: { value: 1 } });
  const route = '{method=GET,route=/api/metrics,status=200}';
  const before = (await figures())[`muster_http_requests_total${route}`]!.count!;
  expect((await figures())[`muster_http_requests_total${route}`]).toEqual({ count: before + 1 });
  expect((await figures())['muster_http_request_seconds{method=GET,route=/api/metrics}']).toMatchObject({
    count: expect.any(Number),
    p99: expect.any(Number),
  });
});

test('the bytes that ids take are shown', async () => {
  const bytes = () => operations.call('GET /api/metrics/zk-bytes', 200);
  expect(await bytes()).toEqual({ allRequestIds: 0, taskStatuses: 0, taskHistoryIds: 0 });
  await operations.api.saveRequest({ id: 'seven-x', requestType: 'WORKER' });
  expect(await bytes()).toEqual({ allRequestIds: 7, taskStatuses: 0, taskHistoryIds: 0 });
});

test('the page and all paths below it are one page, and the root leads to it', async () => {
  const page = await operations.call<string>('GET /{uiPath}', 200, { params: { uiPath: 'ui' } });
  expect(page).toMatch(/^<!doctype html>/i);
  const { url } = operations.api;
  expect(await (await fetch(`${url}/ui/requests/active`)).text()).toBe(page);
  const root = await fetch(url, { redirect: 'manual' });
  expect([root.status, root.headers.get('location')]).toEqual([302, '/ui']);
  for (const [, path] of page.matchAll(/(?:src|href)="(\/static\/[^"]+)"/g))
    expect((await fetch(`${url}${path}`)).status, path).toBe(200);
  expect(await refused('GET /{uiPath}', 404, { params: { uiPath: 'elsewhere' } })).toContain('/elsewhere');
});

everyOperationWasCalled(operations);
