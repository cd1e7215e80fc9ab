import { describe, expect, test } from 'vitest';
import type { PendingRequestParent } from '../../../src/core/model/request.js';
import type { PendingRequest, PendingTask, TaskId } from '../../../src/core/model/task.js';
import { waitFor } from '../../support/wait-for.js';
import { ann } from '../people.js';
import { noTasks, type Scene } from '../scene.js';

const run = 'POST /api/requests/request/{requestId}/run';
const findRun = 'GET /api/requests/request/{requestId}/run/{runId}';
/** Members of a run that says nothing of its own. */
const plain = {
  objstoreUploaderAdditionalFiles: [],
  envOverrides: {},
  requiredSlaveAttributeOverrides: {},
  allowedSlaveAttributeOverrides: {},
  extraArtifacts: [],
};

export function running(scene: Scene): void {
  const { operations } = scene;
  const jobs = (id: string, changes: object = {}) => scene.running({ id, requestType: 'ON_DEMAND', ...changes });

  describe('a run', () => {
    test('with everything that it may say waits for its time just so', async () => {
      await jobs('full-run');
      const runAt = Date.now() + 3_600_000;
      const wishes = {
        message: 'go',
        runId: 'run-1',
        skipHealthchecks: true,
        resources: { cpus: 0.2, memoryMb: 32, numPorts: 1, diskMb: 1 },
        objstoreUploaderAdditionalFiles: [],
        runAsUserOverride: 'nobody',
        envOverrides: { COLOUR: 'red' },
        requiredSlaveAttributeOverrides: { disk: 'ssd' },
        allowedSlaveAttributeOverrides: { gpu: 'yes' },
        extraArtifacts: [
          { uri: 'http://127.0.0.1:1/data', cache: true, executable: true, extract: false, outputFile: 'd' },
        ],
        runAt,
      };
      const body = { ...wishes, commandLineArgs: ['--fast', 'x'] };
      const params = { requestId: 'full-run' };
      const answer = await operations.call<PendingRequestParent>(run, 200, { params, body });
      const { timestamp } = answer.pendingRequest;
      expect(answer.pendingRequest).toEqual({
        ...wishes,
        requestId: 'full-run',
        deployId: 'v1',
        pendingType: 'ONEOFF',
        timestamp,
        askedAt: timestamp,
        trigger: 'RUN_NOW',
        scheduledAt: runAt,
        user: ann.email,
        cmdLineArgsList: ['--fast', 'x'],
      });
      expect([answer.request.id, answer.state, answer.activeDeploy?.id]).toEqual(['full-run', 'ACTIVE', 'v1']);
      const path = 'tasks/scheduled/request/full-run';
      const [waiting] = await waitFor('the pending task', async () => {
        const found = await operations.api.get<{ pendingTask: PendingTask }[]>(path);
        return found.length > 0 && found;
      });
      const { runAt: due, ...kept } = wishes;
      expect(waiting!.pendingTask).toMatchObject({ ...kept, cmdLineArgsList: ['--fast', 'x'] });
      expect(waiting!.pendingTask.pendingTaskId.nextRunAt).toBe(due);
    });

    test('needs no body, gets an id, and is found by it while its task is active', async () => {
      await jobs('plain-run');
      const params = { requestId: 'plain-run' };
      const { pendingRequest } = await operations.call<PendingRequestParent>(run, 200, { params });
      const runId = pendingRequest.runId!;
      const entry = { requestId: 'plain-run', deployId: 'v1', pendingType: 'ONEOFF', user: ann.email, runId, ...plain };
      expect(pendingRequest).toEqual({
        ...entry,
        timestamp: pendingRequest.timestamp,
        askedAt: pendingRequest.timestamp,
        scheduledAt: pendingRequest.timestamp,
        trigger: 'RUN_NOW',
      });
      const [task] = await operations.api.running('plain-run', 1);
      const found = await operations.call<TaskId>(findRun, 200, { params: { ...params, runId } });
      expect(found).toEqual(task!.taskId);
      expect((await scene.refuses(findRun, 404, { params: { ...params, runId: 'other' } })).code).toBe('RUN_NOT_FOUND');
      await scene.refuses(findRun, 404, { params: { requestId: 'nowhere', runId } });
    });

    test('answers only request, state and run when asked for no more', async () => {
      await jobs('brief-run');
      const input = { params: { requestId: 'brief-run' }, query: { minimal: true }, body: { runId: 'brief' } };
      const answer = await operations.call<PendingRequestParent>(run, 200, input);
      expect(Object.keys(answer).toSorted()).toEqual(['pendingRequest', 'request', 'state']);
      expect(answer.pendingRequest.runId).toBe('brief');
    });

    test.each([
      [{ runId: 'x'.repeat(101) }, 'runId'],
      [{ runAt: Date.now() + 31 * 86_400_000 }, 'runAt'],
      [{ runAt: 'soon' }, 'runAt'],
      [{ envOverrides: { STARTED_BY_USER: 'me' } }, 'envOverrides'],
      [{ commandLineArgs: ['STARTED_BY_USER'] }, 'commandLineArgs'],
      [{ commandLineArgs: 'all' }, 'commandLineArgs'],
      // Tasks of these machines have no object store.
      [{ resources: { cpus: -1 } }, 'resources.cpus'],
      [{ resources: { cpus: 0.1, memoryMb: 16, numPorts: 0 } }, 'resources.numPorts'],
    ])('with %j is refused, naming %s', async (body, field) => {
      const id = `refused-${field.replaceAll('.', '-')}-${JSON.stringify(body).length}`;
      await scene.request({ id, requestType: 'ON_DEMAND' });
      await scene.deploy(id, { resources: { cpus: 0.1, memoryMb: 16, numPorts: 1 } });
      const { errors, message } = await scene.refuses(run, 400, { params: { requestId: id }, body });
      expect(errors[0]!.field).toMatch(new RegExp(`^${field}`));
      expect(message).toContain(field);
    });

    test('is 400 of a service, 404 of nothing, 409 without a deploy, paused or twice, 429 when all run', async () => {
      await scene.request({ id: 'a-service' });
      await scene.deploy('a-service');
      const service = { params: { requestId: 'a-service' } };
      expect((await scene.refuses(run, 400, service)).message).toContain('SERVICE');
      await scene.refuses(run, 404, { params: { requestId: 'nowhere' } });
      await scene.request({ id: 'bounded', requestType: 'ON_DEMAND', instances: 2 });
      const params = { requestId: 'bounded' };
      expect((await scene.refuses(run, 409, { params })).code).toBe('NO_DEPLOY');
      await scene.deploy('bounded');
      await operations.call(run, 200, { params, body: { runId: 'one' } });
      await operations.call(run, 200, { params, body: { runId: 'two' } });
      expect((await scene.refuses(run, 429, { params })).code).toBe('TOO_MANY_RUNS');
      await operations.call('POST /api/requests/request/{requestId}/pause', 200, { params });
      expect((await scene.refuses(run, 409, { params })).code).toBe('REQUEST_PAUSED');
    });
  });

  test('a job that runs is not run again; the first run of a new deploy is queued until it ends', async () => {
    await scene.running({ id: 'busy', requestType: 'SCHEDULED', schedule: '0 0 1 1 *' });
    const params = { requestId: 'busy' };
    const { pendingRequest } = await operations.call<PendingRequestParent>(run, 200, { params });
    expect(pendingRequest.pendingType).toBe('IMMEDIATE');
    await operations.api.running('busy', 1);
    expect((await scene.refuses(run, 409, { params })).code).toBe('TASK_RUNNING');
    await scene.deploy('busy', { id: 'v2' });
    const [queued] = await waitFor('the first run of v2 to be queued', async () => {
      const all = await operations.call<PendingRequest[]>('GET /api/requests/queued/pending', 200);
      const ofJob = all.filter(({ requestId }) => requestId === 'busy');
      return ofJob.length > 0 && ofJob;
    });
    const { timestamp } = queued!;
    const entry = {
      requestId: 'busy',
      deployId: 'v2',
      pendingType: 'NEW_DEPLOY',
      timestamp,
      user: ann.email,
      ...plain,
    };
    expect(queued).toEqual(entry);
    const explain = 'GET /api/requests/request/{requestId}/explain';
    const explained = await operations.call(explain, 200, { params });
    expect(explained).toEqual({
      requestId: 'busy',
      state: 'ACTIVE',
      nextRuns: expect.arrayContaining([expect.objectContaining({ timeZone: 'UTC' })]),
      activeTasks: 1,
      pendingTasks: [],
      queued: [
        {
          deployId: 'v2',
          pendingType: 'NEW_DEPLOY',
          timestamp,
          message: 'A run is active; the next one is planned when it ends',
        },
      ],
    });
    await scene.refuses(explain, 404, { params: { requestId: 'nowhere' } });
  });

  test('a request whose tasks find no machine is told why', async () => {
    await scene.request({ id: 'homeless', requiredSlaveAttributes: { disk: 'ssd' } });
    await scene.deploy('homeless');
    const params = { requestId: 'homeless' };
    const { taskIds } = await scene.until('homeless', 'to wait', (parent) => parent.taskIds!.pending.length === 1);
    expect(taskIds).toEqual({ ...noTasks, pending: taskIds!.pending });
    const explained = await operations.call('GET /api/requests/request/{requestId}/explain', 200, { params });
    expect(explained).toMatchObject({
      requestId: 'homeless',
      activeTasks: 0,
      pendingTasks: [
        {
          pendingTaskId: taskIds!.pending[0],
          slaves: 1,
          fitting: 0,
          rejections: [{ reason: expect.stringMatching(/ATTRIBUTE/), slaves: 1 }],
        },
      ],
    });
  });
}
