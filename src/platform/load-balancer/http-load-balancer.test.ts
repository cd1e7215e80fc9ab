import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startBalancer, type BalancerServer } from '../../../test/support/load-balancer/balancer-server.js';
import { makeDeploy, makeRequest, makeTask, start } from '../../../test/support/builders.js';
import { startReceiver } from '../../../test/support/http-receiver.js';
import type { BalancedTask, BalancerChange } from '../../core/load-balancer/index.js';
import type { LoadBalancerRequestId } from '../../core/model/load-balancer.js';
import { Clock } from '../clock.js';
import { HttpLoadBalancer, type HttpLoadBalancerSettings } from './http-load-balancer.js';
import { NoLoadBalancer } from './load-balancer.js';

class StoppedClock extends Clock {
  override now(): number {
    return start;
  }
}

let server: BalancerServer;
const opened: HttpLoadBalancer[] = [];
beforeEach(async () => {
  server = await startBalancer();
});
afterEach(async () => {
  for (const client of opened.splice(0)) await client.onApplicationShutdown();
  await server.close();
});

function client(changes: Partial<HttpLoadBalancerSettings> = {}): HttpLoadBalancer {
  const settings = {
    loadBalancerUri: server.uri,
    loadBalancerQueryParams: {},
    loadBalancerRequestTimeoutMillis: 2_000,
    preResolveUpstreamDNS: false,
    skipDNSPreResolutionForRequests: [],
  };
  const made = new HttpLoadBalancer({ ...settings, ...changes }, new StoppedClock());
  opened.push(made);
  return made;
}

const id: LoadBalancerRequestId = { id: 'web-d1-1', requestType: 'DEPLOY', attemptNumber: 1 };
const task = (instanceNo: number, deploy = makeDeploy()): BalancedTask => ({
  taskId: makeTask({ instanceNo }).taskId,
  host: 'host-1',
  rackId: 'rack-1',
  ports: [31_000 + instanceNo],
  deploy,
});
const change = (changes: Partial<BalancerChange> = {}): BalancerChange => ({
  request: makeRequest(),
  deploy: makeDeploy(),
  add: [task(1)],
  remove: [],
  ...changes,
});

describe('what is called', () => {
  test('a change is posted to the URI as it is, with the query parameters of the settings', async () => {
    const answer = await client({ loadBalancerQueryParams: { key: 'a b' } }).enqueue(id, change());
    expect(answer).toEqual({
      loadBalancerState: 'SUCCESS',
      loadBalancerRequestId: id,
      timestamp: start,
      method: 'ENQUEUE',
      uri: server.uri,
      message: undefined,
    });
    expect(server.calls).toEqual(['POST /lb/request?key=a%20b']);
    expect(server.balancer.upstreams('web')).toEqual(['host-1:31001']);
  });
  test('its state is read, and it is cancelled, by its id; both with the query parameters', async () => {
    const balancer = client({ loadBalancerQueryParams: { key: 'k' } });
    server.balancer.script = () => 'WAITING';
    await balancer.enqueue(id, change());
    expect(await balancer.state(id)).toMatchObject({
      loadBalancerState: 'WAITING',
      method: 'CHECK_STATE',
      uri: `${server.uri}/web-d1-1-DEPLOY-1`,
    });
    expect(await balancer.cancel(id)).toMatchObject({ loadBalancerState: 'CANCELED', method: 'CANCEL' });
    expect(server.calls.slice(1)).toEqual([
      'GET /lb/request/web-d1-1-DEPLOY-1?key=k',
      'DELETE /lb/request/web-d1-1-DEPLOY-1?key=k',
    ]);
  });
  test('a service is deleted by a change of its own', async () => {
    const balancer = client();
    await balancer.enqueue(id, change());
    const deletion = { id: 'web-1', requestType: 'DELETE', attemptNumber: 1 } as const;
    const answer = await balancer.deleteService(deletion, { requestId: 'web', groups: ['g'], basePath: '/web' });
    expect(answer).toMatchObject({ loadBalancerState: 'SUCCESS', method: 'DELETE' });
    expect(server.balancer.serving.has('web')).toBe(false);
  });
  test('upstreams are read at the URI with "state" for "request", without query parameters', async () => {
    const balancer = client({ loadBalancerQueryParams: { key: 'k' } });
    await balancer.enqueue(id, change());
    expect(await balancer.upstreams('web')).toEqual([
      { upstream: 'host-1:31001', requestId: 'web-d1-1-DEPLOY-1', rackId: 'rack-1', group: 'default' },
    ]);
    expect(server.calls.at(-1)).toBe('GET /lb/state/web');
  });
  test('upstreams that cannot be read count as none', async () => {
    const balancer = client();
    expect(await balancer.upstreams('unheard-of')).toEqual([]);
    server.mode = 'down';
    expect(await balancer.upstreams('web')).toEqual([]);
  });
});

describe('an answer becomes a state', () => {
  const calls = {
    enqueue: (balancer: HttpLoadBalancer) => balancer.enqueue(id, change()),
    delete: (balancer: HttpLoadBalancer) => balancer.deleteService(id, { requestId: 'web', groups: [] }),
    state: (balancer: HttpLoadBalancer) => balancer.state(id),
    cancel: (balancer: HttpLoadBalancer) => balancer.cancel(id),
  };
  test.each<{ name: string; mode: BalancerServer['mode']; call: keyof typeof calls; state: string }>([
    { name: 'a refused change', mode: 400, call: 'enqueue', state: 'FAILED' },
    { name: 'an error at a change', mode: 500, call: 'enqueue', state: 'FAILED' },
    { name: 'a refused deletion', mode: 404, call: 'delete', state: 'FAILED' },
    { name: 'a refused question about a state', mode: 500, call: 'state', state: 'UNKNOWN' },
    { name: 'a refused cancel', mode: 404, call: 'cancel', state: 'UNKNOWN' },
    { name: 'a gateway that got no answer in time', mode: 504, call: 'enqueue', state: 'UNKNOWN' },
    { name: 'a closed connection', mode: 'down', call: 'enqueue', state: 'UNKNOWN' },
    { name: 'an answer without a state', mode: 200, call: 'enqueue', state: 'UNKNOWN' },
    { name: 'no answer in time', mode: 'mute', call: 'enqueue', state: 'UNKNOWN' },
    { name: 'no answer about a state in time', mode: 'mute', call: 'state', state: 'UNKNOWN' },
  ])('$name: $state', async ({ mode, call, state }) => {
    server.mode = mode;
    const millis = mode === 'mute' ? 150 : 20_000;
    const answer = await calls[call](client({ loadBalancerRequestTimeoutMillis: millis }));
    expect(answer).toMatchObject({ loadBalancerState: state, loadBalancerRequestId: id, timestamp: start });
    expect(answer.message).toMatch(/./);
  });
  test('nothing listens there: UNKNOWN', async () => {
    const uri = server.uri;
    await server.close();
    expect(await client({ loadBalancerUri: uri }).enqueue(id, change())).toMatchObject({
      loadBalancerState: 'UNKNOWN',
    });
  });
  test('an answer that never ends is given up: UNKNOWN', async () => {
    const receiver = await startReceiver();
    receiver.answer = (_call, response) => response.writeHead(200, { 'content-type': 'application/json' }).write('{"');
    const balancer = client({ loadBalancerUri: receiver.url, loadBalancerRequestTimeoutMillis: 150 });
    expect(await balancer.enqueue(id, change())).toMatchObject({ loadBalancerState: 'UNKNOWN' });
    await receiver.close();
  });
  test.each(['FAILED', 'WAITING', 'SUCCESS', 'CANCELING', 'CANCELED', 'INVALID_REQUEST_NOOP', 'UNKNOWN'] as const)(
    '%s is taken as it is, with its message',
    async (loadBalancerState) => {
      server.balancer.script = () => ({ loadBalancerState, message: 'because' });
      expect(await client().enqueue(id, change())).toMatchObject({ loadBalancerState, message: 'because' });
    },
  );
});

test('a change that is known with other parameters is asked for its state', async () => {
  const balancer = client();
  server.balancer.script = () => 'WAITING';
  await balancer.enqueue(id, change());
  const answer = await balancer.enqueue(id, change({ add: [task(2)] }));
  expect(answer).toMatchObject({ loadBalancerState: 'WAITING', method: 'CHECK_STATE' });
  expect(server.balancer.received).toHaveLength(2);
  expect(server.calls.at(-1)).toBe('GET /lb/request/web-d1-1-DEPLOY-1');
});

test('the same change again is the same change', async () => {
  const balancer = client();
  await balancer.enqueue(id, change());
  await balancer.enqueue({ ...id, id: 'web-d2-1' }, change({ add: [], remove: [task(1)] }));
  expect(await balancer.enqueue(id, change())).toMatchObject({ loadBalancerState: 'SUCCESS' });
  expect(server.balancer.upstreams('web')).toEqual([]);
});

test('without a load balancer everything succeeds at once and nothing has upstreams', async () => {
  const none = new NoLoadBalancer(new StoppedClock());
  expect(none.enabled).toBe(false);
  const answers = [await none.enqueue(id), await none.state(id), await none.cancel(id), await none.deleteService(id)];
  expect(answers.map(({ loadBalancerState, uri }) => [loadBalancerState, uri])).toEqual(
    Array.from({ length: 4 }, () => ['SUCCESS', undefined]),
  );
  expect(await none.upstreams()).toEqual([]);
});
