import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  insertDeploy,
  insertPendingTask,
  insertRequest,
  insertTask,
  makePendingTask,
  start,
} from '../../../test/support/builders.js';
import { FileDriver } from '../../../test/support/file-driver.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { unsupportedByLocalDriver } from '../../cluster/local/supported.js';
import type { FieldError } from '../../core/field-error.js';
import type { Deploy } from '../../core/model/deploy.js';
import type { RequestParent } from '../../core/model/request.js';
import { Clock } from '../../platform/clock.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { makePendingTaskId } from '../../core/task-id.js';
import { PendingRequestRepository } from '../tasks/pending-request.repository.js';
import { DeployRepository } from './deploy.repository.js';
import { DeploysModule } from './deploys.module.js';

class StoppedClock extends Clock {
  override now(): number {
    return start;
  }
}

let rooms: RoomApp;
let tx: Queryable;

beforeAll(async () => {
  const clock = new StoppedClock();
  const refusedUser = (user: string) => Promise.resolve(user === 'root' ? 'tasks must not run as root' : undefined);
  const driver = Object.assign(new FileDriver(), {
    unsupportedInDeploy: (deploy: Deploy) => unsupportedByLocalDriver(deploy),
    refusedUser,
  });
  rooms = await startRooms({ modules: [DeploysModule], clock, driver });
  tx = rooms.database.pool;
  // No instance leads: deploys stay as the API left them.
  rooms.app.get(Leadership).stepDown('this test is about the API');
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx.query(
    'TRUNCATE request, request_history, deploy_history, pending_deploy, pending_request, pending_task, task, webhook, webhook_update',
  ),
);

const resources = { cpus: 0.5, memoryMb: 64, numPorts: 1 };
const deploy = (changes: object = {}) => ({ id: 'v1', requestId: 'web', command: 'serve', resources, ...changes });
/** Body of an answer: a request with its surroundings, or an error. */
type Body = RequestParent & { code: string; message: string; errors: FieldError[] };
const post = (body: object, query = '') => rooms.call<Body>('POST', `/api/deploys${query}`, body);
const queue = () => tx.query('SELECT deploy_id, pending_type, document FROM pending_request');

describe('embedded files', () => {
  const embedded = (content: unknown) =>
    deploy({
      command: undefined,
      customExecutorCmd: '/bin/ex',
      executorData: { cmd: 'x', embeddedArtifacts: [{ filename: 'c.yml', content }] },
    });

  test.each<[unknown]>([
    ['bmFtZTogeA=='],
    [['bmFtZTogeA==']],
    [['bmFt', 'ZTogeA==']],
    ['bmFt\nZTogeA==\n'],
    [''],
    [[]],
  ])('come back as they were sent: %j', async (content) => {
    await insertRequest(tx);
    const { status, body } = await post({ deploy: embedded(content) });
    expect([status, body.message]).toEqual([200, undefined]);
    expect(body.pendingDeploy?.executorData?.embeddedArtifacts?.[0]?.content).toEqual(content);
  });

  test.each<[unknown, string]>([
    ['name: x', 'base64'],
    [['bmFt', 'not base64!!'], 'base64'],
    ['data:text/plain;base64,eA==', 'base64'],
    ['bmFtZT', 'base64'],
    [7, 'type'],
    [['bmFt', 7], 'type'],
  ])('that are none are refused: %j', async (content, rule) => {
    await insertRequest(tx);
    const { status, body } = await post({ deploy: embedded(content) });
    const field = 'deploy.executorData.embeddedArtifacts.0.content';
    expect([status, body.errors.map((error) => [error.field, error.rule])]).toEqual([400, [[field, rule]]]);
  });
});

describe('starting a deploy', () => {
  test('of a service keeps it in progress, and answers with everything around the request', async () => {
    await insertRequest(tx, { request: { instances: 3 } });
    const { status, body } = await post({ deploy: deploy({ skipHealthchecksOnDeploy: true }), message: 'first' });
    expect(status).toBe(200);
    const marker = { requestId: 'web', deployId: 'v1', timestamp: start, message: 'first' };
    expect(body).toEqual({
      request: { id: 'web', requestType: 'SERVICE', instances: 3 },
      state: 'ACTIVE',
      requestDeployState: { requestId: 'web', pendingDeploy: marker },
      pendingDeploy: {
        ...deploy({ skipHealthchecksOnDeploy: true }),
        resources: { ...resources, diskMb: 0 },
        objstoreUploaderAdditionalFiles: [],
      },
      pendingDeployState: {
        deployMarker: marker,
        currentDeployState: 'WAITING',
        deployProgress: {
          targetActiveInstances: 3,
          currentActiveInstances: 0,
          deployInstanceCountPerStep: 3,
          deployStepWaitTimeMs: 0,
          stepComplete: false,
          autoAdvanceDeploySteps: true,
          failedDeployTasks: [],
          timestamp: start,
        },
      },
      taskIds: { healthy: [], notYetHealthy: [], pending: [], cleaning: [], loadBalanced: [], killed: [] },
    });
    expect(await queue()).toMatchObject([
      { deploy_id: 'v1', pending_type: 'NEW_DEPLOY', document: { skipHealthchecks: true, message: 'first' } },
    ]);
    expect((await rooms.get('/api/deploys/pending')).body).toEqual([body.pendingDeployState]);
  });

  test('of a job makes it active at once, and schedules nothing yet', async () => {
    await insertRequest(tx, { request: { requestType: 'ON_DEMAND', instances: undefined } });
    const { body } = await post({ deploy: deploy() });
    expect(body.requestDeployState).toEqual({
      requestId: 'web',
      activeDeploy: expect.objectContaining({ deployId: 'v1' }),
    });
    const { deployMarker, ...state } = body.pendingDeployState as { deployMarker: { timestamp: number } };
    // Nothing of it is left to launch.
    expect(state).toEqual({
      currentDeployState: 'WAITING',
      deployProgress: {
        targetActiveInstances: 1,
        currentActiveInstances: 1,
        deployInstanceCountPerStep: 1,
        deployStepWaitTimeMs: 0,
        stepComplete: true,
        autoAdvanceDeploySteps: true,
        failedDeployTasks: [],
        timestamp: deployMarker.timestamp,
        canary: false,
        stepLaunchComplete: true,
        stepAcceptanceResults: {},
        acceptanceResultMessageHistory: [],
        lbUpdates: {},
      },
    });
    expect(await queue()).toEqual([]);
  });

  test('of a job takes over the runs that wait', async () => {
    await insertRequest(tx, { request: { requestType: 'ON_DEMAND', instances: undefined }, activeDeployId: 'v0' });
    const { pendingTaskId, ...run } = makePendingTask({ runId: 'r1', cmdLineArgsList: ['a'] });
    const later = { nextRunAt: start + 60_000, deployId: 'v0', pendingType: 'ONEOFF' } as const;
    const waiting = makePendingTaskId({ ...pendingTaskId, ...later });
    await insertPendingTask(tx, { ...run, pendingTaskId: waiting });
    const queued = { requestId: 'web', deployId: 'v0', pendingType: 'ONEOFF', timestamp: start, runId: 'r2' } as const;
    await rooms.app.get(PendingRequestRepository, { strict: false }).enqueue(tx, queued);
    await post({ deploy: deploy() });
    expect((await queue()).map((entry: { document: object }) => entry.document)).toEqual([
      { ...queued, deployId: 'v1' },
      expect.objectContaining({
        deployId: 'v1',
        pendingType: 'ONEOFF',
        runId: 'r1',
        cmdLineArgsList: ['a'],
        runAt: start + 60_000,
      }),
    ]);
    expect(await tx.query('SELECT delete_requested FROM pending_task')).toEqual([{ delete_requested: true }]);
  });

  test('tells the webhooks once', async () => {
    await insertRequest(tx);
    await tx.query(`INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ('w', 'http://h', 'DEPLOY', now())`);
    await post({ deploy: deploy() });
    const [told, ...more] = await tx.query('SELECT body FROM webhook_update');
    expect(more).toEqual([]);
    expect(told.body).toMatchObject({ eventType: 'STARTING', deploy: { id: 'v1' } });
  });

  test('accepts what older clients send', async () => {
    await insertRequest(tx);
    const sent = deploy({
      env: { A: 1, B: true },
      uris: ['http://a/b'],
      mesosLabels: [{ key: 'a', value: 'b' }],
      healthcheckUri: '/h',
      healthCheckProtocol: 'HTTPS',
      bogus: 1,
      command: 'serve',
      customExecutorCmd: null,
    });
    const { status, body } = await post({ deploy: sent });
    expect([status, body.pendingDeploy]).toMatchObject([
      200,
      {
        env: { A: '1', B: 'true' },
        uris: [{ uri: 'http://a/b', cache: false, executable: false, extract: true }],
        clusterLabels: [{ key: 'a', value: 'b' }],
        healthcheck: { uri: '/h', protocol: 'HTTPS' },
      },
    ]);
    expect(body.pendingDeploy).not.toHaveProperty('bogus');
    expect(body.pendingDeploy).not.toHaveProperty('healthCheckProtocol');
  });

  test('a deploy that was read can be posted again under a new id', async () => {
    await insertRequest(tx, { request: { requestType: 'RUN_ONCE', instances: undefined } });
    const { body } = await post({ deploy: deploy({ labels: { a: 'b' }, healthcheck: { uri: '/' } }) });
    await tx.query('DELETE FROM pending_deploy');
    const again = await post({ deploy: { ...body.activeDeploy, id: 'v2' } });
    expect([again.status, again.body.activeDeploy]).toEqual([200, { ...body.activeDeploy, id: 'v2' }]);
  });

  test('with a new version of the request shows it, and stores it only on success', async () => {
    await insertRequest(tx, { request: { instances: 3 } });
    const updatedRequest = { id: 'web', requestType: 'SERVICE', instances: 1 };
    const { body } = await post({ deploy: deploy(), updatedRequest });
    expect(body).toMatchObject({
      request: updatedRequest,
      pendingDeployState: { updatedRequest, deployProgress: { targetActiveInstances: 1 } },
    });
    expect((await tx.query('SELECT document FROM request'))[0].document).toMatchObject({ instances: 3 });
  });

  test('with canary settings fills them in, and shows canary progress beside the fields of every deploy', async () => {
    await insertRequest(tx, { request: { instances: 3 } });
    const { status, body } = await post({ deploy: deploy({ canaryDeploySettings: { enableCanaryDeploy: true } }) });
    expect(status).toBe(200);
    expect(body.pendingDeploy?.canaryDeploySettings).toEqual({
      enableCanaryDeploy: true,
      instanceGroupSize: 1,
      acceptanceMode: 'NONE',
      waitMillisBetweenGroups: 0,
      allowedTasksFailuresPerGroup: 0,
      canaryCycleCount: 3,
    });
    expect(body.pendingDeployState?.deployProgress).toEqual({
      targetActiveInstances: 1,
      currentActiveInstances: 0,
      deployInstanceCountPerStep: 1,
      deployStepWaitTimeMs: 0,
      stepComplete: false,
      autoAdvanceDeploySteps: true,
      failedDeployTasks: [],
      timestamp: start,
      canary: true,
      stepLaunchComplete: false,
      stepAcceptanceResults: {},
      acceptanceResultMessageHistory: [],
      lbUpdates: {},
    });
  });

  test('with a gate that this installation does not have says so', async () => {
    await insertRequest(tx, { request: { instances: 3 } });
    const canaryDeploySettings = { enableCanaryDeploy: true, acceptanceMode: 'CHECKS' };
    const { status, headers } = await post({ deploy: deploy({ canaryDeploySettings }) });
    expect([status, headers.get('warning')]).toEqual([200, expect.stringContaining('this installation has no checks')]);
  });

  test('with a request whose offset is longer than the time between its runs says so', async () => {
    const job = { id: 'web', requestType: 'SCHEDULED' as const, schedule: '*/5 * * * *' };
    await insertRequest(tx, { request: job });
    const { status, headers } = await post({
      deploy: deploy(),
      updatedRequest: { ...job, scheduleJitterMillis: 3_600_000 },
    });
    const warning = expect.stringContaining('scheduleJitterMillis 3600000 is longer than the 300000 ms');
    expect([status, headers.get('warning')]).toEqual([200, warning]);
  });

  test('to unpause a request', async () => {
    await insertRequest(tx, { state: 'PAUSED' });
    const { body } = await post({ deploy: deploy(), unpauseOnSuccessfulDeploy: true });
    expect(body.state).toBe('PAUSED');
    expect(await tx.query('SELECT state FROM request')).toEqual([{ state: 'DEPLOYING_TO_UNPAUSE' }]);
    expect(await tx.query('SELECT event_type FROM request_history')).toEqual([{ event_type: 'DEPLOYED_TO_UNPAUSE' }]);
    expect(await queue()).toHaveLength(1);
  });
});

describe('a deploy is refused', () => {
  test.each<{ name: string; body: object; status: number; code: string; field?: string; rule?: string }>([
    { name: 'without deploy', body: {}, status: 400, code: 'INVALID_REQUEST', field: 'deploy', rule: 'required' },
    {
      name: 'without request id',
      body: { deploy: { id: 'v1', command: 'x' } },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'deploy.requestId',
    },
    {
      name: 'of an unknown request',
      body: { deploy: deploy({ requestId: 'nope' }) },
      status: 404,
      code: 'REQUEST_NOT_FOUND',
    },
    {
      name: 'without id',
      body: { deploy: deploy({ id: undefined }) },
      status: 400,
      code: 'INVALID_DEPLOY',
      field: 'deploy.id',
      rule: 'required',
    },
    {
      name: 'with a number as text',
      body: { deploy: deploy({ resources: { cpus: '1' } }) },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'deploy.resources.cpus',
      rule: 'type',
    },
    {
      name: 'with a fraction for a whole number',
      body: { deploy: deploy({ deployInstanceCountPerStep: 1.5 }) },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'deploy.deployInstanceCountPerStep',
    },
    {
      name: 'with an empty step',
      body: { deploy: deploy({ deployInstanceCountPerStep: 0 }) },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'deploy.deployInstanceCountPerStep',
    },
    {
      name: 'with an unknown word',
      body: { deploy: deploy({ healthcheck: { uri: '/', protocol: 'GOPHER' } }) },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'deploy.healthcheck.protocol',
      rule: 'oneOf',
    },
    {
      name: 'with a port that is none',
      body: { deploy: deploy({ healthcheck: { uri: '/', portNumber: 70_000 } }) },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'deploy.healthcheck.portNumber',
    },
    {
      name: 'with a rule broken',
      body: { deploy: deploy({ healthcheck: { uri: '/', portIndex: 5 } }) },
      status: 400,
      code: 'INVALID_DEPLOY',
      field: 'deploy.healthcheck.portIndex',
      rule: 'range',
    },
    {
      name: 'with empty canary groups',
      body: { deploy: deploy({ canaryDeploySettings: { instanceGroupSize: 0 } }) },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'deploy.canaryDeploySettings.instanceGroupSize',
    },
    {
      name: 'with an unknown way to accept canary groups',
      body: { deploy: deploy({ canaryDeploySettings: { acceptanceMode: 'HOPE' } }) },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'deploy.canaryDeploySettings.acceptanceMode',
      rule: 'oneOf',
    },
    {
      name: 'with what the cluster cannot do',
      body: { deploy: deploy({ containerInfo: { type: 'CLUSTER', volumes: [{ containerPath: '/a' }] } }) },
      status: 400,
      code: 'NOT_SUPPORTED',
      field: 'deploy.containerInfo.cluster.image',
      rule: 'supported',
    },
    {
      name: 'as a user that no task may be',
      body: { deploy: deploy({ user: 'root' }) },
      status: 400,
      code: 'INVALID_DEPLOY',
      field: 'deploy.user',
      rule: 'user',
    },
    {
      name: 'as such a user in executorData',
      body: {
        deploy: deploy({ command: undefined, customExecutorCmd: 'x', executorData: { cmd: 'x', user: 'root' } }),
      },
      status: 400,
      code: 'INVALID_DEPLOY',
      field: 'deploy.executorData.user',
      rule: 'user',
    },
    {
      name: 'with a run as such a user',
      body: { deploy: deploy({ runImmediately: { runAsUserOverride: 'root' } }) },
      status: 400,
      code: 'INVALID_DEPLOY',
      field: 'deploy.runImmediately.runAsUserOverride',
      rule: 'user',
    },
    {
      name: 'with a download to outside of the sandbox',
      body: { deploy: deploy({ uris: [{ uri: 'http://h/a', outputFile: '../../x' }] }) },
      status: 400,
      code: 'NOT_SUPPORTED',
      field: 'deploy.uris[0].outputFile',
      rule: 'supported',
    },
    {
      name: 'with an invalid new version of the request',
      body: { deploy: deploy(), updatedRequest: { id: 'web', requestType: 'SERVICE', instances: 999 } },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'updatedRequest.instances',
    },
    {
      name: 'with a new version of another request',
      body: { deploy: deploy(), updatedRequest: { id: 'api', requestType: 'SERVICE' } },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'updatedRequest.id',
      rule: 'match',
    },
  ])('$name', async ({ body, status, code, field, rule }) => {
    await insertRequest(tx);
    const answer = await post(body);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    if (field)
      expect(answer.body.errors[0]).toMatchObject({
        field,
        rule: rule ?? expect.any(String),
        message: expect.stringContaining(field),
      });
    expect(await tx.query('SELECT 1 FROM deploy_history')).toEqual([]);
  });

  test('while another is in progress', async () => {
    await insertRequest(tx);
    await post({ deploy: deploy() });
    const { status, body } = await post({ deploy: deploy({ id: 'v2' }) });
    expect([status, body.code]).toEqual([409, 'DEPLOY_IN_PROGRESS']);
    expect(body.message).toContain("'v1'");
    expect(await tx.query('SELECT deploy_id FROM deploy_history')).toEqual([{ deploy_id: 'v1' }]);
  });

  test('under the id of the one in progress, because the id was used', async () => {
    await insertRequest(tx);
    await post({ deploy: deploy() });
    const { status, body } = await post({ deploy: deploy() });
    expect([status, body.errors[0]]).toMatchObject([400, { field: 'deploy.id', rule: 'unique' }]);
  });

  test('when two are posted at once, for all but one', async () => {
    await insertRequest(tx);
    const answers = await Promise.all([1, 2, 3, 4].map((no) => post({ deploy: deploy({ id: `v${no}` }) })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  });

  test('under an id that the request used before', async () => {
    await insertRequest(tx);
    await insertDeploy(tx, { deploy: { id: 'v1' } });
    const { status, body } = await post({ deploy: deploy() });
    expect([status, body.errors[0]]).toMatchObject([400, { field: 'deploy.id', rule: 'unique' }]);
  });

  test('of a paused request, unless it is to be unpaused', async () => {
    await insertRequest(tx, { state: 'PAUSED' });
    expect((await post({ deploy: deploy() })).body.code).toBe('REQUEST_PAUSED');
  });

  test('of a request that is being deleted', async () => {
    await insertRequest(tx, { state: 'DELETING' });
    expect((await post({ deploy: deploy() })).body.code).toBe('REQUEST_BEING_CLEANED');
  });

  test('when it would end many tasks at once and the caller did not say that this is meant', async () => {
    await insertRequest(tx, { request: { instances: 2 }, activeDeployId: 'v0' });
    for (let no = 1; no <= 13; no++) await insertTask(tx, { deployId: 'v0', instanceNo: no });
    const { status, body } = await post({ deploy: deploy() });
    expect([status, body.errors[0]]).toMatchObject([400, { rule: 'largeScaleDown' }]);
    expect((await post({ deploy: deploy() }, '?largeScaleDownAcknowledged=true')).status).toBe(200);
  });

  test('when its tasks are kept apart and there are too few machines', async () => {
    await insertRequest(tx, { request: { slavePlacement: 'SEPARATE' } });
    const { status, body } = await post({ deploy: deploy() });
    expect([status, body.errors[0]]).toMatchObject([400, { rule: 'capacity' }]);
  });
});

describe('a deploy in progress', () => {
  const pending = async () => (await rooms.app.get(DeployRepository).findPending(tx))[0];
  beforeEach(async () => {
    await insertRequest(tx, { request: { instances: 3 } });
    await post({ deploy: deploy({ deployInstanceCountPerStep: 1 }) });
  });

  test('can be cancelled; asking twice changes nothing', async () => {
    const cancel = () => rooms.call<Body>('DELETE', '/api/deploys/deploy/v1/request/web');
    const first = await cancel();
    expect([first.status, first.body.pendingDeployState?.currentDeployState]).toEqual([200, 'WAITING']);
    const asked = (await pending())?.cancel;
    expect(asked).toEqual({ user: undefined, requestedAt: start });
    expect((await cancel()).status).toBe(200);
    expect((await pending())?.cancel).toEqual(asked);
  });

  test('can be steered; a second wish before the first was seen is ignored', async () => {
    const update = (targetActiveInstances: unknown) =>
      rooms.call<Body>('POST', '/api/deploys/update', { requestId: 'web', deployId: 'v1', targetActiveInstances });
    expect((await update(2)).status).toBe(200);
    expect((await update(3)).status).toBe(200);
    expect((await pending())?.updateTargetInstances).toBe(2);
    for (const target of [0, 4, '2'])
      expect((await update(target)).body.errors[0]?.field).toBe('targetActiveInstances');
  });

  test.each([
    ['DELETE', '/api/deploys/deploy/v9/request/web', undefined],
    ['POST', '/api/deploys/update', { requestId: 'web', deployId: 'v9', targetActiveInstances: 1 }],
  ])('%s %s of another deploy is refused', async (method, path, body) => {
    const answer = await rooms.call<Body>(method, path, body);
    expect([answer.status, answer.body.code]).toEqual([400, 'NOT_PENDING']);
  });

  test.each([
    ['DELETE', '/api/deploys/deploy/v1/request/nope', undefined],
    ['POST', '/api/deploys/update', { requestId: 'nope', deployId: 'v1', targetActiveInstances: 1 }],
  ])('%s %s of an unknown request is 404', async (method, path, body) => {
    expect((await rooms.call(method, path, body)).status).toBe(404);
  });
});

test('the service makes up an id when it is set so', async () => {
  const other = await startRooms({ modules: [DeploysModule], settings: { createDeployIds: true, deployIdLength: 6 } });
  try {
    other.app.get(Leadership).stepDown('this test is about the API');
    await insertRequest(other.database.pool);
    const { body } = await other.call<Body>('POST', '/api/deploys', { deploy: deploy({ id: undefined }) });
    expect(body.pendingDeploy?.id).toMatch(/^[0-9a-f]{6}$/);
  } finally {
    await other.close();
  }
});
