import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startReceiver, type HttpReceiver } from '../../../../test/support/http-receiver.js';
import { caller, RollingService } from '../../../../test/support/rolling-service.js';
import { toldEvents } from '../../../../test/support/told-events.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import { builtInUser } from '../../../core/authorization/index.js';
import type { Autoscale } from '../../../core/model/autoscale.js';
import type { Deploy } from '../../../core/model/deploy.js';
import { instancesOf, type Request } from '../../../core/model/request.js';
import type { Settings } from '../../../platform/settings/settings.js';
import { Rows } from '../../../rows.js';
import { ExplainService } from '../../../scheduler/explain/explain.service.js';
import { UsageModule } from '../../usage/usage.module.js';
import { UsagePoller } from '../../usage/usage.poller.js';
import { Bounces } from '../actions/bounces.service.js';
import { Deletions } from '../actions/deletions.service.js';
import { Pauses } from '../actions/pauses.service.js';
import { Scaling } from '../actions/scaling.service.js';
import { ExpiringPoller } from '../expiring/expiring.poller.js';
import { RequestsService } from '../requests.service.js';
import { AutoscalePoller } from './autoscale.poller.js';

let service: RollingService;
let source: HttpReceiver;
/** Load that the source answers. */
let load: unknown;
/** Share of a core that new tasks use. */
let use: number;
beforeEach(async () => {
  source = await startReceiver();
  source.answer = (_call, response) => response.end(JSON.stringify({ calls: load }));
  use = 0.6;
});
afterEach(async () => {
  await service.world.close();
  await source.close();
});

const minute = 60_000;
const autoscaled = (changes: Partial<Autoscale> = {}): Autoscale => ({
  min: 2,
  max: 6,
  metric: 'HTTP',
  target: 100,
  uri: `${source.url}/$REQUEST_ID/$DEPLOY_ID`,
  valuePath: 'calls',
  ...changes,
});
const byCpu: Partial<Autoscale> = { metric: 'CPU', target: 60, uri: undefined, valuePath: undefined };

interface Scene {
  autoscale?: Partial<Autoscale>;
  request?: Partial<Request>;
  settings?: Partial<Settings>;
  deploy?: Partial<Deploy>;
}

/** Two instances of v1 of 'web', of which each asks for one core. */
async function serving({ autoscale, request, settings, deploy }: Scene = {}): Promise<void> {
  const gates = { allowedTargets: ['127.0.0.1'], requestTimeoutMillis: 300 };
  service = await RollingService.start({ gates, ...settings }, [UsageModule]);
  service.behave(() => ({ startAfter: 500, uses: { cpus: use } }));
  await service.save({ instances: undefined, autoscale: autoscaled(autoscale), ...request });
  await service.deploy('v1', { resources: { cpus: 1, memoryMb: 64 }, ...deploy });
  await service.run(8);
}

const rows = () => service.world.get(Rows);
const look = () => service.world.get(AutoscalePoller).runOnce();
const stored = async () => (await rows().requests.find(service.world.db.pool, 'web'))!.request;
const instances = async () => instancesOf(await stored());
const told = async () => (await service.world.get(ExplainService).request('web', builtInUser)).autoscale!;
const scales = async () =>
  (await rows().requestHistory.list(service.world.db.pool, 'web', { count: 20, offset: 0 }, [], 'ASC'))
    .map(({ change }) => change)
    .filter(({ eventType }) => eventType === 'SCALED');
const scale = (count: number, durationMillis?: number) =>
  service.world.get(Scaling).scale('web', { instances: count, durationMillis }, true, caller);

/** Looks every 15 virtual seconds. */
async function lookFor(millis: number): Promise<void> {
  for (let passed = 0; passed < millis; passed += 15_000) {
    await look();
    await service.world.cluster.advance(15_000);
  }
}

test('more load has more instances at once, less load fewer after the delay, and the history says why', async () => {
  await serving();
  load = 400;
  await look();
  expect(source.calls.map(({ url }) => url)).toEqual(['/web/v1']);
  expect(await told()).toMatchObject({ outcome: 'SCALED', value: 400, needed: 4, lastScale: { from: 2, to: 4 } });
  await service.run(4);
  expect(await service.running()).toHaveLength(4);
  await look();
  expect((await told()).message).toBe('Autoscaling (2 to 6) keeps 4 instances: HTTP 400, target 100 per instance');

  load = 120;
  await lookFor(5 * minute);
  expect(await instances()).toBe(4);
  expect(await told()).toMatchObject({ outcome: 'DELAYED', needed: 2, until: service.world.now });
  await look();
  await service.run(4);
  expect(await service.running()).toHaveLength(2);
  const history = await scales();
  expect(history.map(({ message, user }) => [message, user])).toEqual([
    ['autoscale: HTTP 400, target 100 per instance -- Scaled from 2 to 4', undefined],
    ['autoscale: HTTP 120, target 100 per instance -- Scaled from 4 to 2', undefined],
  ]);
  const events = (await toldEvents(service.world.db.pool, 'REQUEST')).filter(({ eventType }) => eventType === 'SCALED');
  expect(events.map(({ message }) => message)).toEqual(history.map(({ message }) => message));
});

describe('nothing changes without a value', () => {
  test.each<{ name: string; answer: HttpReceiver['answer']; why: string }>([
    { name: 'no answer', answer: () => undefined, why: 'no answer within 300 ms' },
    { name: 'an error', answer: 503, why: 'it answered 503, not 200 to 299' },
    { name: 'no number', answer: (_call, response) => response.end('{"calls": "many"}'), why: 'is no number' },
    { name: 'a number below 0', answer: (_call, response) => response.end('{"calls": -5}'), why: 'cannot be -5' },
    {
      name: 'an endless answer',
      answer: (_call, response) => void response.write('1'),
      why: 'no answer within 300 ms',
    },
    { name: 'a large one', answer: (_call, response) => response.end('1'.repeat(70_000)), why: '65536 bytes' },
  ])('$name', async ({ answer, why }) => {
    await serving();
    source.answer = answer;
    await look();
    expect([await instances(), (await told()).outcome]).toEqual([2, 'INCONCLUSIVE']);
    expect((await told()).message).toContain(why);
  });

  test('a host that is not allowed is not asked', async () => {
    const uri = source.url.replace('127.0.0.1', 'localhost');
    await serving({ autoscale: { uri }, settings: { gates: { requestTimeoutMillis: 300 } } });
    await look();
    expect((await told()).message).toContain('has no address that gates.allowedTargets allows');
    expect(source.calls).toEqual([]);
  });

  test('a redirect is not followed', async () => {
    await serving();
    source.answer = (_call, response) => response.writeHead(302, { location: '/else' }).end();
    await look();
    expect((await told()).message).toContain('it answered 302');
    expect(source.calls.map(({ url }) => url)).toEqual(['/web/v1']);
  });
});

test('usage of CPU is that of healthy instances, and new ones do not count before their second sample', async () => {
  use = 0.93;
  const resources = { cpus: 1, memoryMb: 64, numPorts: 1 };
  // Nobody checks here, and what a check has found counts.
  await serving({
    autoscale: byCpu,
    deploy: { resources, healthcheck: { uri: '/' }, skipHealthchecksOnDeploy: true },
  });
  const sample = async () => {
    await service.world.cluster.advance(minute);
    await service.world.get(UsagePoller).runOnce(service.world.now);
  };
  await look();
  expect((await told()).message).toContain('no recent sample');
  await sample();
  await look();
  expect((await told()).outcome).toBe('INCONCLUSIVE');
  await sample();
  await look();
  expect((await scales()).map(({ message }) => message)).toEqual([
    'autoscale: CPU 93 %, target 60 % -- Scaled from 2 to 4',
  ]);
  use = 0.1;
  await service.run(4);
  await sample();
  await look();
  // The new ones use little, which their first sample does not say.
  expect(await told()).toMatchObject({ instances: 4, value: expect.closeTo(93, 6), needed: 4 });
  await sample();
  await look();
  expect(await told()).toMatchObject({ outcome: 'STEADY', value: expect.closeTo(51.5, 6) });

  const busy = (await service.world.active('web')).filter(({ taskId }) => taskId.instanceNo <= 2);
  for (const { taskId } of busy) {
    await service.world.query(
      `INSERT INTO task_liveness (task_id, request_id, failures, failing_since, sick_since) VALUES ($1, 'web', 3, now(), now())`,
      [taskId.id],
    );
  }
  await look();
  expect(await told()).toMatchObject({ value: expect.closeTo(10, 6), outcome: 'DELAYED', needed: 3 });
  await service.world.cluster.advance(4 * minute);
  await look();
  expect((await told()).message).toContain('no recent sample');
});

describe('it waits, and says so', () => {
  const holds = async (reason: string | RegExp) => {
    load = 600;
    await look();
    const { message, outcome } = await told();
    expect([outcome, await instances()]).toEqual(['HELD', 2]);
    expect(message).toMatch(reason);
  };
  const goesOn = async () => {
    await look();
    expect(await instances()).toBe(6);
  };

  test('for a deploy in progress', async () => {
    await serving();
    await service.deploy('v2', {});
    await holds(/deploy 'v2' is in progress \(HTTP 600, target 100 per instance\)/);
    await service.run(12);
    await goesOn();
  });
  test('for a bounce', async () => {
    await serving();
    await service.world.get(Bounces).bounce('web', {}, caller);
    await holds('a bounce is in progress');
    await service.run(12);
    await goesOn();
  });
  test('for the end of a pause, and asks nobody meanwhile', async () => {
    await serving();
    await service.world.get(Pauses).pause('web', {}, caller);
    await holds('the request is PAUSED');
    await service.run(4);
    await holds('the request is PAUSED');
    expect(source.calls).toEqual([]);
  });
  test('while the action is disabled', async () => {
    await serving();
    await service.world.query(
      `INSERT INTO disabled_action (action, message, automatically_clearable) VALUES ('SCALE_REQUEST', 'quiet', false)`,
    );
    await holds('the action SCALE_REQUEST is disabled');
  });
  test('for a scale of a person that expires, which may leave the bounds', async () => {
    await serving();
    await scale(1, 10 * minute);
    load = 600;
    await look();
    expect([await instances(), (await told()).outcome]).toEqual([1, 'HELD']);
    expect((await told()).message).toMatch(/a scale for a while is in force until 20.+Z/);
    await service.save({ instances: undefined, autoscale: autoscaled(), owners: ['ann'] });
    expect(await instances()).toBe(1);
    await service.world.cluster.advance(10 * minute + 1);
    await service.world.get(ExpiringPoller).runOnce(service.world.now);
    expect(await instances()).toBe(2);
    await goesOn();
  });
});

test('a scale of a person within the bounds is kept for the delay; one outside of them is refused by field and rule', async () => {
  await serving();
  load = 200;
  await look();
  await scale(5);
  await lookFor(5 * minute);
  expect(await instances()).toBe(5);
  await look();
  expect(await instances()).toBe(2);
  for (const count of [1, 7])
    await expect(scale(count)).rejects.toMatchObject({ errors: [{ field: 'instances', rule: 'autoscale' }] });
});

test('saving the request again leaves the number, and other bounds hold at once', async () => {
  await serving();
  load = 500;
  await look();
  await service.save({ instances: 2, autoscale: autoscaled() });
  expect(await instances()).toBe(5);
  await service.save({ instances: undefined, autoscale: autoscaled({ max: 3 }) });
  expect(await instances()).toBe(3);
  await service.save({ instances: 3 });
  await look();
  expect(await instances()).toBe(3);
  expect((await service.world.get(ExplainService).request('web', builtInUser)).autoscale).toBeUndefined();
});

test('a scale that is refused is told, and made as soon as it may be', async () => {
  await serving({ request: { slavePlacement: 'SEPARATE' } });
  load = 300;
  await look();
  expect([await instances(), (await told()).outcome]).toEqual([2, 'REFUSED']);
  expect((await told()).message).toMatch(/HTTP 300.*3 are needed, but the scale was refused: .*slaves/);
  expect(await scales()).toEqual([]);
  await service.world.get(RequestsService).saveRequest({ ...(await stored()), slavePlacement: 'GREEDY' }, caller);
  await look();
  expect(await instances()).toBe(3);
});

test('a request that restarts after a scale does so after this one, too', async () => {
  await serving({ request: { bounceAfterScale: true } });
  load = 300;
  await look();
  expect((await rows().requests.find(service.world.db.pool, 'web'))!.bouncing).toBe(true);
  await look();
  expect((await told()).message).toContain('a bounce is in progress');
});

test('a leader that was overtaken while it asked changes nothing, and the next one scales once', async () => {
  await serving();
  let release = (): void => undefined;
  source.answer = (_call, response) => void (release = () => response.end('{"calls": 400}'));
  const pass = look().catch((cause: unknown) => String(cause));
  await waitFor('the question', () => source.calls.length === 1);
  const former = await service.world.overtake();
  release();
  expect(await pass).toMatch(/lead/i);
  expect([await instances(), (await told()).outcome]).toEqual([2, undefined]);
  source.answer = (_call, response) => response.end('{"calls": 400}');
  await look();
  await look();
  expect((await scales()).map(({ message }) => message)).toEqual([
    'autoscale: HTTP 400, target 100 per instance -- Scaled from 2 to 4',
  ]);
  await former.close();
});

test('what was measured for other settings decides nothing', async () => {
  await serving();
  let release = (): void => undefined;
  source.answer = (_call, response) => void (release = () => response.end('{"calls": 400}'));
  const pass = look();
  await waitFor('the question', () => source.calls.length === 1);
  await service.save({ instances: undefined, autoscale: autoscaled({ target: 200 }) });
  release();
  await pass;
  expect([await instances(), (await told()).outcome]).toEqual([2, undefined]);
});

test('the decision goes with its request', async () => {
  await serving();
  load = 200;
  await look();
  await service.world.get(Deletions).delete('web', {}, caller);
  await service.run(8);
  expect(await service.world.query('SELECT id FROM request')).toEqual([]);
  expect(await service.world.query('SELECT * FROM autoscale')).toEqual([]);
});

test('of several requests the one that was looked at least lately comes first', async () => {
  await serving();
  load = 200;
  await look();
  await service.world.get(RequestsService).saveRequest({ ...(await stored()), id: 'zoo' }, caller);
  const order = async () =>
    (await rows().requests.findAutoscaled(service.world.db.pool)).map(({ request }) => request.id);
  expect(await order()).toEqual(['zoo', 'web']);
});
