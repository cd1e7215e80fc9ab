import { afterAll, afterEach, beforeAll, describe, expect, test, vi, type MockInstance } from 'vitest';
import { SimulatedCluster } from './support/simulated-cluster/simulated-cluster.js';
import type { SimulatedDriver } from './support/simulated-cluster/simulated-driver.js';
import { canBeDisabled } from '../src/core/disasters/index.js';
import type { DisabledAction } from '../src/core/model/state.js';
import { actionTypes, type ActionType } from '../src/core/model/enums.js';
import type { TaskIdsByStatus } from '../src/core/model/request.js';
import { DisabledActions } from '../src/platform/actions/disabled-actions.js';
import type { ReadinessDto } from '../src/platform/health/health.dto.js';
import { Reconciliation } from '../src/scheduler/reconciliation/reconciliation.service.js';
import { insertDeploy, insertRequest, insertTask } from './support/builders.js';
import { startTestApp, type TestApp } from './support/test-app.js';
import { waitFor } from './support/wait-for.js';

/** Method, path under /api, body. */
type Call = readonly [string, string, object?];

/** Visible effect of an action that is switched off. */
type Effect =
  /** These calls answer 409 with the message of the disabled action. */
  | { kind: 'refuses'; calls: Call[] }
  /** These pollers stand still. */
  | { kind: 'stops'; pollers: string[] }
  /** This does not happen. */
  | { kind: 'prevents'; happens: () => Promise<boolean> }
  /** It is told to every caller that asks. Nothing to see here. */
  | { kind: 'told'; why: string }
  /** It cannot be switched off. */
  | { kind: 'never' };
const refuses = (...calls: Call[]): Effect => ({ kind: 'refuses', calls });
const stops = (...pollers: string[]): Effect => ({ kind: 'stops', pollers });
const prevents = (happens: () => Promise<boolean>): Effect => ({ kind: 'prevents', happens });
const onlyTold = (why: string): Effect => ({ kind: 'told', why });
const alwaysAllowed: Effect = { kind: 'never' };

let app: TestApp<SimulatedDriver>;
let taskId: string;
beforeAll(async () => {
  app = await startTestApp({ driver: new SimulatedCluster().driver() });
  const isCompared = async () => (await call('GET', '/api/state/task-reconciliation')).status === 200;
  await waitFor('the comparison at the start', isCompared);
  comparisons = vi.spyOn(app.driver, 'reconcile');
  const tx = app.database.pool;
  await insertRequest(tx, { request: { id: 'known', owners: ['me'] } });
  await insertRequest(tx, { request: { id: 'checked' }, activeDeployId: 'd1' });
  await insertDeploy(tx, { deploy: { requestId: 'checked', healthcheck: { uri: '/health' } } });
  const now = Date.now();
  await insertTask(tx, { requestId: 'checked', startedAt: now, updates: [['TASK_RUNNING', now - 3_600_000]] });
  taskId = (await insertTask(tx, { requestId: 'known', startedAt: now, updates: [['TASK_RUNNING', now]] })).id;
});
afterAll(() => app.close());

async function call<Body>(...[method, path, body]: Call): Promise<{ status: number; body: Body }> {
  const response = await fetch(`${app.url}${path.replace('{taskId}', taskId)}`, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: (text ? JSON.parse(text) : undefined) as Body };
}
const readiness = async () => (await call<ReadinessDto>('GET', '/readyz')).body;
const switchOff = (action: ActionType, message?: string) =>
  call('POST', `/api/disasters/disabled-actions/${action}`, { message });
const switchOn = (action: ActionType) => call('DELETE', `/api/disasters/disabled-actions/${action}`);

const request = '/api/requests/request/known';
/** Comparisons of our tasks with those of the machines. */
let comparisons: MockInstance<SimulatedDriver['reconcile']>;
const effects: Record<ActionType, Effect> = {
  BOUNCE_REQUEST: refuses(['POST', `${request}/bounce`], ['PUT', `${request}/scale`, { instances: 2, bounce: true }]),
  SCALE_REQUEST: refuses(['PUT', `${request}/scale`, { instances: 2 }]),
  PRIORITY_REQUEST: refuses(['PUT', `${request}/priority`, { priority: 0.5 }]),
  REMOVE_REQUEST: refuses(['DELETE', request]),
  CREATE_REQUEST: refuses(['POST', '/api/requests', { id: 'new', requestType: 'SERVICE' }]),
  UPDATE_REQUEST: refuses(
    ['POST', '/api/requests', { id: 'known', requestType: 'SERVICE' }],
    ['POST', `${request}/groups`, { group: 'g' }],
    ['PUT', `${request}/priority`, { priority: 0.5 }],
    ['PUT', `${request}/skip-healthchecks`, { skipHealthchecks: true }],
    ['PUT', `${request}/skipHealthchecks`, { skipHealthchecks: true }],
  ),
  VIEW_REQUEST: alwaysAllowed,
  PAUSE_REQUEST: alwaysAllowed,
  KILL_TASK: refuses(
    ['DELETE', '/api/tasks/task/{taskId}'],
    ['DELETE', '/api/tasks/task/{taskId}', { override: true }],
  ),
  BOUNCE_TASK: refuses(['DELETE', '/api/tasks/task/{taskId}', { waitForReplacementTask: true }]),
  RUN_SHELL_COMMAND: refuses(['POST', '/api/tasks/task/{taskId}/command', { name: 'any' }]),
  ADD_METADATA: refuses(['POST', '/api/tasks/task/{taskId}/metadata', { type: 't', title: 'x' }]),
  DEPLOY: refuses(
    ['POST', '/api/deploys', { deploy: { requestId: 'known', id: 'd9', command: 'true' } }],
    ['POST', '/api/deploys', { deploy: 'not even readable' }],
  ),
  CANCEL_DEPLOY: refuses(['DELETE', '/api/deploys/deploy/d1/request/known']),
  ADD_WEBHOOK: refuses(['POST', '/api/webhooks', { type: 'TASK', uri: 'http://127.0.0.1:9/' }]),
  REMOVE_WEBHOOK: refuses(['DELETE', '/api/webhooks?webhookId=TASK-x'], ['DELETE', '/api/webhooks/TASK-x']),
  VIEW_WEBHOOKS: refuses(
    ['GET', '/api/webhooks'],
    ['GET', '/api/webhooks/summary'],
    ['GET', '/api/webhooks/dead-letters'],
    ...['deploy', 'request', 'task'].flatMap((kind): Call[] => [
      ['GET', `/api/webhooks/${kind}?webhookId=x`],
      ['GET', `/api/webhooks/${kind}/x`],
    ]),
  ),
  TASK_RECONCILIATION: prevents(async () => {
    await app.app.get(Reconciliation).runWhenDue(Date.now() + 3_600_000);
    return comparisons.mock.calls.length > 0;
  }),
  STARTUP_TASK_RECONCILIATION: prevents(async () => {
    await app.app.get(Reconciliation).begin();
    await app.app.get(Reconciliation).runWhenDue(Date.now());
    return comparisons.mock.calls.length > 0;
  }),
  // Judged by its checks the task waits for them; by the time it has been running it is healthy.
  RUN_HEALTH_CHECKS: prevents(async () => {
    const { body } = await call<TaskIdsByStatus>('GET', '/api/tasks/ids/request/checked');
    return body.notYetHealthy.length > 0;
  }),
  ADD_DISASTER: alwaysAllowed,
  REMOVE_DISASTER: alwaysAllowed,
  DISABLE_ACTION: alwaysAllowed,
  ENABLE_ACTION: alwaysAllowed,
  VIEW_DISASTERS: alwaysAllowed,
  FREEZE_SLAVE: refuses(['POST', '/api/slaves/slave/s1/freeze']),
  ACTIVATE_SLAVE: refuses(
    ['POST', '/api/slaves/slave/s1/activate'],
    ['POST', '/api/slaves/slave/s1/decommission/update'],
  ),
  DECOMMISSION_SLAVE: refuses(
    ['POST', '/api/slaves/slave/s1/decommission'],
    ['POST', '/api/slaves/slave/s1/decommission/plan'],
    ['POST', '/api/slaves/slave/s1/decommission/update'],
  ),
  VIEW_SLAVES: alwaysAllowed,
  FREEZE_RACK: refuses(['POST', '/api/racks/rack/r1/freeze']),
  ACTIVATE_RACK: refuses(['POST', '/api/racks/rack/r1/activate']),
  DECOMMISSION_RACK: refuses(
    ['POST', '/api/racks/rack/r1/decommission'],
    ['POST', '/api/racks/rack/r1/decommission/plan'],
  ),
  VIEW_RACKS: alwaysAllowed,
  SEND_EMAIL: onlyTold('no mail is queued or sent meanwhile: test/mail/delivery.test.ts'),
  PROCESS_OFFERS: onlyTold('nothing is placed meanwhile: scheduler.test.ts'),
  CACHE_OFFERS: onlyTold('there are no offers that could be kept'),
  EXPENSIVE_API_CALLS: onlyTold('it concerns callers who are no admins, and without authentication there are none'),
  RUN_CLEANUP_POLLER: stops('cleanup', 'load-balancer-cleanup'),
  RUN_DEPLOY_POLLER: stops('deploys', 'gates'),
  RUN_SCHEDULER_POLLER: stops('scheduler'),
  RUN_EXPIRING_ACTION_POLLER: stops('expiring-requests', 'expiring-machines', 'expiring-priority-freeze'),
  RUN_UPSTREAM_POLLER: stops('upstream-check'),
  TASK_SHUFFLE: onlyTold('nothing is shuffled meanwhile: sampling.test.ts'),
};
const casesOf = <Kind extends Effect['kind']>(kind: Kind) =>
  actionTypes.flatMap((action) => {
    const effect = effects[action];
    return effect.kind === kind ? [{ action, ...(effect as Extract<Effect, { kind: Kind }>) }] : [];
  });

afterEach(async () => {
  const { body } = await call<DisabledAction[]>('GET', '/api/disasters/disabled-actions');
  for (const { type } of body) await switchOn(type);
});

describe('while an action is switched off', () => {
  test('each has an effect, or a reason to have none', () => {
    expect(Object.keys(effects).toSorted()).toEqual([...actionTypes].toSorted());
  });

  test.each(casesOf('refuses'))('$action: calls that need it answer 409 with the reason', async ({ action, calls }) => {
    await switchOff(action, 'month end');
    const message = `Action ${action} is disabled: month end`;
    for (const each of calls) {
      const refused = { status: 409, body: { code: 'ACTION_DISABLED', message } };
      expect(await call(...each), each.join(' ')).toMatchObject(refused);
    }
  });

  test.each(casesOf('stops'))('$action: its pollers stand still, until it comes back', async ({ action, pollers }) => {
    const standing = async () => (await readiness()).disabledPollers!.map(({ name }) => name).toSorted();
    await switchOff(action);
    await waitFor('the pollers to stand still', async () => (await standing()).length === pollers.length);
    expect(await standing()).toEqual(pollers.toSorted());
    await switchOn(action);
    await waitFor('the pollers to go on', async () => (await standing()).length === 0);
  });

  test.each(casesOf('prevents'))('$action: what it stands for does not happen', async ({ action, happens }) => {
    await switchOff(action);
    comparisons.mockClear();
    expect(await happens()).toBe(false);
    await switchOn(action);
    await waitFor('it to happen', happens);
  });

  test.each(casesOf('told'))('$action: every caller is told ($why)', async ({ action }) => {
    const actions = app.app.get(DisabledActions);
    expect(await actions.isDisabled(action)).toBe(false);
    await switchOff(action);
    expect(await actions.isDisabled(action)).toBe(true);
  });

  test.each(casesOf('never'))('$action: it cannot be', async ({ action }) => {
    expect(canBeDisabled(action)).toBe(false);
    const refused = { status: 400, body: { errors: [{ field: 'action', rule: 'canBeDisabled' }] } };
    expect(await switchOff(action)).toMatchObject(refused);
    expect((await call('GET', '/api/disasters/disabled-actions')).body).toEqual([]);
  });

  test('all at once: reads, and the pause that cannot be forbidden, go on', async () => {
    for (const action of actionTypes.filter(canBeDisabled)) await switchOff(action);
    for (const path of ['/api/requests', request, '/api/slaves', '/api/racks', '/api/disasters/stats', '/api/state']) {
      expect((await call('GET', path)).status, path).toBe(200);
    }
    expect((await call('POST', `${request}/pause`)).status).toBe(200);
  });
});

test('what comes back works again at once', async () => {
  const add: Call = ['POST', '/api/webhooks', { type: 'TASK', uri: 'http://127.0.0.1:9/' }];
  await switchOff('ADD_WEBHOOK');
  expect((await call(...add)).status).toBe(409);
  await switchOn('ADD_WEBHOOK');
  expect(await call(...add)).toEqual({ status: 200, body: 'CREATED' });
});

test('what lapsed while RUN_EXPIRING_ACTION_POLLER was off ends when it comes back', async () => {
  await switchOff('RUN_EXPIRING_ACTION_POLLER');
  await call('POST', '/api/priority/freeze', { minimumPriorityLevel: 0.1, killTasks: false, durationMillis: 1 });
  await waitFor('the poller to stand still', async () => (await readiness()).disabledPollers!.length === 3);
  expect((await call('GET', '/api/priority/freeze')).status).toBe(200);
  await switchOn('RUN_EXPIRING_ACTION_POLLER');
  await waitFor('the end', async () => (await call('GET', '/api/priority/freeze')).status === 404);
});

test('a task that is not there is 404 before its kill is refused', async () => {
  await switchOff('KILL_TASK');
  expect((await call('DELETE', '/api/tasks/task/nope-d1-1-1-h-r')).status).toBe(404);
});

test('another instance hears of it', async () => {
  const other = await startTestApp({ databaseUrl: app.databaseUrl, follows: true });
  try {
    const actions = other.app.get(DisabledActions);
    expect(await actions.isDisabled('DEPLOY')).toBe(false);
    await switchOff('DEPLOY');
    await waitFor('the news', () => actions.isDisabled('DEPLOY'));
  } finally {
    await other.close();
  }
});
