import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HandOver } from '../src/import-from/hand-over.service.js';
import { ImportItemEntity } from '../src/import-from/import-item.entity.js';
import { ImportReport } from '../src/import-from/import-report.js';
import { ImportModule } from '../src/import-from/import.module.js';
import { Imports } from '../src/import-from/import.service.js';
import { OriginalApi } from '../src/import-from/original-api.js';
import { HistoryModule } from '../../../src/modules/history/history.module.js';
import { DisastersModule } from '../../../src/modules/disasters/disasters.module.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import {
  type OriginalRequest,
  originalRequest,
  startedAt,
  startOriginal,
  taskIdOf,
  type SimulatedOriginal,
} from './original.js';

let original: SimulatedOriginal;
let here: RoomApp;

beforeEach(async () => {
  original = await startOriginal();
  here = await startRooms({ modules: [ImportModule, HistoryModule, DisastersModule], entities: [ImportItemEntity] });
});
afterEach(async () => {
  await here.close();
  await original.close();
});

interface Wishes {
  dryRun?: boolean;
  concurrency?: number;
  progress?: (done: number) => void;
  headers?: Record<string, string>;
  url?: string;
}

/** One run, and the lines that it says. */
async function run({ dryRun = false, concurrency = 4, progress = () => undefined, ...given }: Wishes = {}) {
  const lines: string[] = [];
  const report = new ImportReport((line) => lines.push(line));
  const api = apiOf(given, concurrency);
  try {
    await here.app
      .get(Imports)
      .run({ original: api, report, dryRun }, { atOnce: concurrency, withHistory: true, progress });
  } finally {
    await api.close();
  }
  report.close('Taken:');
  return { lines, report };
}

const apiOf = ({ url = original.url, headers = {} }: Wishes, concurrency = 4) =>
  new OriginalApi({ url, headers, concurrency, timeoutMillis: 2_000 });

async function handOver(
  pattern: string,
  given: { pauseSource?: boolean; sideBySide?: boolean; waitMillis?: number } = {},
) {
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const api = apiOf({});
  const wishes = { pauseSource: false, sideBySide: false, waitMillis: 0, atOnce: 2, progress: () => undefined };
  try {
    const report = new ImportReport(say);
    await here.app.get(HandOver).run({ original: api, report, dryRun: false }, { ...wishes, ...given, pattern, say });
  } finally {
    await api.close();
  }
  return lines;
}

const get = async <Body>(path: string) => (await here.get<Body>(`/api/${path}`)).body;
const stateOf = async (id: string) => (await get<{ state: string }>(`requests/request/${id}`)).state;
const count = async (table: string): Promise<number> =>
  Number((await here.database.pool.query(`SELECT count(*) FROM ${table}`))[0].count);
const tables = [
  'request',
  'request_history',
  'deploy_history',
  'task_history',
  'request_group',
  'webhook',
  'import_item',
];

test('everything is taken, and the lists of both say the same', async () => {
  original.requests = [
    originalRequest('web', {
      deploys: [
        { id: 'd1', result: 'SUCCEEDED' },
        { id: 'd2', result: 'FAILED' },
      ],
    }),
    originalRequest('cron', { type: 'SCHEDULED' }),
    originalRequest('once', { type: 'RUN_ONCE' }),
    originalRequest('ask', { type: 'ON_DEMAND', state: 'SYSTEM_COOLDOWN' }),
    originalRequest('rest', { state: 'PAUSED' }),
    originalRequest('done', { type: 'SCHEDULED', state: 'FINISHED' }),
    originalRequest('bare', { activeDeployId: undefined, deploys: [], taskIds: [] }),
    originalRequest('going', { state: 'DELETING' }),
  ];
  original.lists = {
    groups: [{ id: 'g', requestIds: ['web'], metadata: { team: 'x' } }],
    webhooks: [{ id: 'x', uri: 'http://127.0.0.1:1/hook', type: 'DEPLOY', user: 'ops', timestamp: startedAt }],
    'notifications/blocklist': ['ada@example.com'],
    'disasters/disabled-actions': [
      { type: 'BOUNCE_REQUEST', message: 'not now', user: 'ops', automaticallyClearable: false },
      { type: 'DEPLOY', message: 'a disaster', automaticallyClearable: true },
    ],
    inactive: ['host-9'],
    slaves: [{ id: 's1', host: 'host-3', currentState: { state: 'FROZEN' } }],
  };
  const { lines } = await run();

  const states = Object.fromEntries(
    (await get<{ request: { id: string }; state: string }[]>('requests')).map(({ request, state }) => [
      request.id,
      state,
    ]),
  );
  // Nothing that the original runs can start here.
  expect(states).toEqual({
    web: 'PAUSED',
    cron: 'PAUSED',
    once: 'ACTIVE',
    ask: 'PAUSED',
    rest: 'PAUSED',
    done: 'FINISHED',
    bare: 'PAUSED',
  });
  expect(await count('pending_request')).toBe(0);

  const web = await get<{ activeDeploy: object; requestDeployState: object }>('requests/request/web');
  expect(web.activeDeploy).toMatchObject({ id: 'd1', command: 'sleep 1', env: { A: 'b' } });
  expect(web.requestDeployState).toMatchObject({ activeDeploy: { deployId: 'd1', timestamp: startedAt, user: 'ada' } });
  expect(await get('history/request/web/deploy/d2')).toMatchObject({ deployResult: { deployState: 'FAILED' } });
  expect(await get('history/request/web/tasks')).toMatchObject([
    {
      taskId: { id: taskIdOf('web', 'd1', 2) },
      lastTaskState: 'TASK_FINISHED',
      runId: `run-${taskIdOf('web', 'd1', 2)}`,
    },
    { taskId: { id: taskIdOf('web', 'd1', 1) } },
  ]);
  expect(await get(`history/task/${taskIdOf('web', 'd1', 1)}`)).toMatchObject({
    taskUpdates: [{}, {}, {}],
    task: { rackId: 'rack1' },
  });
  expect(await get('history/request/web/requests')).toMatchObject([
    { eventType: 'PAUSED', user: 'muster import-from' },
    { eventType: 'CREATED', createdAt: startedAt },
  ]);
  expect(await get('groups')).toEqual(original.lists['groups']);
  expect(await get('webhooks')).toMatchObject([{ uri: 'http://127.0.0.1:1/hook', type: 'DEPLOY', user: 'ops' }]);
  expect(await get('notifications/blacklist')).toEqual(['ada@example.com']);
  expect(await get('disasters/disabled-actions')).toMatchObject([{ type: 'BOUNCE_REQUEST', message: 'not now' }]);
  expect(await get('inactive')).toEqual(['host-9']);

  expect(lines).toContain('left out: request going: it is being deleted there');
  expect(lines.filter((line) => line.startsWith('  '))).toEqual([
    '                            there      taken  as before   left out    refused',
    '  requests                      8          7          0          1          0',
    '  changes of requests           7          7          0          0          0',
    '  deploys                       7          7          0          0          0',
    '  ended tasks                  12         12          0          0          0',
    '  groups                        1          1          0          0          0',
    '  webhooks                      1          1          0          0          0',
    '  mail addresses                1          1          0          0          0',
    '  disabled actions              1          1          0          0          0',
    '  inactive hosts                1          1          0          0          0',
    '  slaves that are FROZEN there; states of machines are not taken: 1 (host-3)',
    '  requests that are ACTIVE there and PAUSED here, held until they are handed over: 3 (web, cron, bare)',
    '  requests that are SYSTEM_COOLDOWN there and PAUSED here, held until they are handed over: 1 (ask)',
    '  requests that are there and not here: 1 (going)',
  ]);
});

test('what our rules refuse is listed with field and rule, and the rest is taken', async () => {
  original.requests = [
    originalRequest('good'),
    originalRequest('many', { request: { id: 'many', requestType: 'SERVICE', instances: 1_000_000 } }),
    originalRequest('text', { request: { id: 'text', requestType: 'SERVICE', instances: '3' } }),
    originalRequest('box', { deploys: [{ id: 'd1', deploy: { resources: { cpus: -1, memoryMb: 32 } } }] }),
  ];
  original.lists = { webhooks: [{ uri: 'http://ada:pa55word@127.0.0.1:1/', type: 'DEPLOY' }] };
  const { lines, report } = await run();
  expect(lines.filter((line) => line.startsWith('refused')).sort()).toEqual([
    expect.stringMatching(
      /^refused: active deploy d1 of request box: .*resources.cpus \(min\).*The request is taken without it$/,
    ),
    expect.stringMatching(/^refused: request many: instances \(\w+\)/),
    expect.stringMatching(/^refused: request text: instances \(\w+\)/),
    expect.stringMatching(/^refused: webhooks: http.*uri \(credentials\)/),
  ]);
  expect(lines.join()).not.toContain('pa55word');
  expect([report.total('requests', 'TAKEN'), report.total('requests', 'REFUSED')]).toEqual([2, 2]);
  expect(report.total('deploys', 'TAKEN')).toBe(2);
  expect(await here.database.pool.query(`SELECT key FROM import_item WHERE outcome = 'REFUSED' ORDER BY key`)).toEqual([
    { key: 'many' },
    { key: 'text' },
  ]);
  // Once it is put right there, the next run takes it.
  original.requests[1]!.request['instances'] = 2;
  expect((await run()).report.total('requests', 'TAKEN')).toBe(1);
});

test('what version 1.5.0 added is kept: the most instances, and who may do what', async () => {
  const added = { maxScale: 4, actionPermissions: { oncall: ['SCALE', 'KILL_TASK'] } };
  original.requests = [
    originalRequest('web', { request: { id: 'web', requestType: 'SERVICE', instances: 2, ...added } }),
  ];
  const { lines } = await run();
  expect(lines.at(-1)).toMatch(/ACTIVE there and PAUSED here/);
  expect(await get('requests/request/web')).toMatchObject({ request: added });
  const { status } = await here.call('PUT', '/api/requests/request/web/scale', { instances: 5 });
  expect(status).toBe(400);
});

test('a member that is not kept here is told', async () => {
  original.requests = [originalRequest('web', { request: { id: 'web', requestType: 'SERVICE', newFangled: 'x' } })];
  const { lines } = await run();
  expect(lines).toContain('  request.newFangled is otherwise here: 1 (web)');
});

test('a dry run says the same and writes nothing', async () => {
  original.requests = [originalRequest('web'), originalRequest('cron', { type: 'SCHEDULED' })];
  original.lists = { groups: [{ id: 'g', requestIds: [], metadata: {} }] };
  const before = await Promise.all(tables.map(count));
  const dry = await run({ dryRun: true });
  expect(await Promise.all(tables.map(count))).toEqual(before);
  const real = await run();
  expect(dry.lines.slice(0, -1)).toEqual(real.lines.slice(0, -1));
});

describe('a later run', () => {
  test('takes only what is new or changed, and doubles nothing', async () => {
    original.requests = [originalRequest('web'), originalRequest('api')];
    original.lists = { groups: [{ id: 'g', requestIds: ['web'], metadata: {} }], inactive: ['h1'] };
    await run();
    const before = await Promise.all(tables.map(count));
    const again = await run();
    expect(await Promise.all(tables.map(count))).toEqual(before);
    expect(again.report.total('requests', 'AS_BEFORE')).toBe(2);
    expect(again.report.total('ended tasks', 'TAKEN')).toBe(0);

    const [web] = original.requests;
    web!.request['instances'] = 3;
    web!.deploys.push({ id: 'd2', result: 'SUCCEEDED' });
    web!.activeDeployId = 'd2';
    web!.taskIds.unshift(taskIdOf('web', 'd2', 9));
    web!.events.unshift({ createdAt: startedAt + 5_000, eventType: 'UPDATED' });
    original.requests.push(originalRequest('new'));
    const { report } = await run();
    expect(report.total('requests', 'TAKEN')).toBe(2);
    expect(report.total('ended tasks', 'TAKEN')).toBe(3);
    expect(await get('requests/request/web')).toMatchObject({ request: { instances: 3 }, activeDeploy: { id: 'd2' } });
    expect(await stateOf('web')).toBe('PAUSED');
  });

  test('leaves what was changed, removed or made here', async () => {
    original.requests = [originalRequest('changed'), originalRequest('gone'), originalRequest('ours')];
    original.lists = { groups: [{ id: 'g', requestIds: [], metadata: {} }] };
    await here.call('POST', '/api/requests', { id: 'ours', requestType: 'WORKER' });
    await run();
    await here.call('POST', '/api/requests', { id: 'changed', requestType: 'SERVICE', instances: 7 });
    await here.database.pool.query(`DELETE FROM request WHERE id = 'gone'`);
    await here.call('DELETE', '/api/groups/group/g');
    for (const { request } of original.requests) request['instances'] = 2;
    const { lines } = await run();
    expect(lines.filter((line) => line.startsWith('left out')).sort()).toEqual([
      'left out: groups: g: it was changed or removed here since it was taken',
      'left out: request changed: it was changed here since it was taken',
      'left out: request gone: it was deleted here',
      'left out: request ours: a request of this id is here that did not come from there',
    ]);
    expect(await get('requests/request/changed')).toMatchObject({ request: { instances: 7 } });
    expect(await get('requests/request/ours')).toMatchObject({ request: { requestType: 'WORKER' } });
  });

  test('goes on after an end in the middle, and asks for nothing twice', async () => {
    original.requests = Array.from({ length: 12 }, (_, number) => originalRequest(`web-${number}`));
    const stop = new Error('ended');
    const ended = run({ concurrency: 1, progress: (done) => { if (done === 5) throw stop; } }); // prettier-ignore
    await expect(ended).rejects.toThrow(stop);
    expect(await count('request')).toBe(5);
    const { report } = await run();
    expect([report.total('requests', 'TAKEN'), report.total('requests', 'AS_BEFORE')]).toEqual([7, 5]);
    expect(await count('task_history')).toBe(24);
    const details = original.calls.filter((path) => path.startsWith('history/task/'));
    expect(details.length).toBe(new Set(details).size);
  });

  test('takes an event for the same one when a store keeps only its second', async () => {
    original.requests = [originalRequest('web', { events: [{ createdAt: startedAt + 123, eventType: 'UPDATED' }] })];
    await run();
    original.requests[0]!.events = [{ createdAt: startedAt, eventType: 'UPDATED' }];
    await run();
    const events = await get<{ eventType: string; createdAt: number }[]>('history/request/web/requests');
    expect(events.filter(({ eventType }) => eventType === 'UPDATED')).toMatchObject([{ createdAt: startedAt + 123 }]);
  });

  test('takes the end of a deploy that was in progress', async () => {
    original.requests = [
      originalRequest('web', { deploys: [{ id: 'd1', result: 'SUCCEEDED' }, { id: 'd2' }], pendingDeployId: 'd2' }),
    ];
    const { lines } = await run();
    expect(lines).toContain('  a deploy is in progress there; run the import again when it has ended: 1 (web d2)');
    original.requests[0]!.deploys[1]!.result = 'SUCCEEDED';
    original.requests[0]!.pendingDeployId = undefined;
    original.requests[0]!.activeDeployId = 'd2';
    await run();
    expect(await get('history/request/web/deploy/d2')).toMatchObject({ deployResult: { deployState: 'SUCCEEDED' } });
    expect(await get('requests/request/web')).toMatchObject({ activeDeploy: { id: 'd2' } });
  });
});

test('a long history comes in pages, with no more calls at once than asked for', async () => {
  const taskIds = Array.from({ length: 250 }, (_, number) => taskIdOf('web', 'd1', number));
  original.requests = [originalRequest('web', { taskIds }), originalRequest('api', { taskIds: [] })];
  await run({ concurrency: 3 });
  expect(await count('task_history')).toBe(250);
  expect(original.mostAtOnce).toBeLessThanOrEqual(3);
  expect(original.calls.filter((path) => path === 'history/request/web/tasks')).toHaveLength(3);
});

describe('a request is handed over', () => {
  const waiting = () =>
    here.database.pool.query(
      `SELECT request_id, pending_type FROM pending_request WHERE pending_type <> 'UPDATED_REQUEST'`,
    );

  test('only when the original does not run it any more', async () => {
    original.requests = [originalRequest('web-1'), originalRequest('web-2', { activeTaskIds: [taskIdOf('web-2', 'd1', 9)] }), originalRequest('api')]; // prettier-ignore
    await run();
    expect(await handOver('web-1')).toEqual([
      'stays held: web-1: it is ACTIVE there: pause it there, or add --pause-source (or --side-by-side)',
    ]);
    original.requests[1]!.state = 'PAUSED';
    expect(await handOver('web-2')).toEqual([
      'stays held: web-2: 1 of its tasks still run there; run this again when they have ended',
    ]);
    expect(await waiting()).toEqual([]);

    expect((await handOver('web-*', { pauseSource: true })).sort()).toEqual([
      'stays held: web-2: 1 of its tasks still run there; run this again when they have ended',
      'handed over: web-1',
    ].sort()); // prettier-ignore
    expect(original.requests.map(({ state }) => state)).toEqual(['PAUSED', 'PAUSED', 'ACTIVE']);
    expect(await waiting()).toEqual([{ request_id: 'web-1', pending_type: 'UNPAUSED' }]);
    expect([await stateOf('web-1'), await stateOf('web-2'), await stateOf('api')]).toEqual([
      'ACTIVE',
      'PAUSED',
      'PAUSED',
    ]);
    // From now on it is ours.
    original.requests[0]!.request['instances'] = 9;
    const { lines } = await run();
    expect(lines).toContain('left out: request web-1: it has been handed over');
  });

  test('as it is there by then, with what happened meanwhile', async () => {
    original.requests = [originalRequest('web')];
    await run();
    const [web] = original.requests;
    web!.request['instances'] = 4;
    web!.activeTaskIds.push(taskIdOf('web', 'd1', 7));
    expect(await handOver('web', { pauseSource: true })).toEqual(['handed over: web']);
    expect(await get('requests/request/web')).toMatchObject({ state: 'ACTIVE', request: { instances: 4 } });
    expect(await count('task_history')).toBe(3);
  });

  describe('with its schedule:', () => {
    const minute = 60_000;
    const thisMinute = () => Math.floor(Date.now() / minute) * minute;
    /** A job whose last run began at this time. */
    const job = (lastRunAt: number, given: Partial<OriginalRequest> = {}) =>
      originalRequest('cron', {
        request: { id: 'cron', requestType: 'SCHEDULED', schedule: '* * * * *', scheduleType: 'CRON' },
        taskIds: [taskIdOf('cron', 'd1', lastRunAt - startedAt)],
        planned: ['TASK_DONE'],
        ...given,
      });
    const queued = async (): Promise<{ pendingType: string; runAt?: number }[]> =>
      (await here.database.pool.query('SELECT document FROM pending_request')).map(
        ({ document }: { document: object }) => document,
      );

    test('a run in progress there goes on to its end, and the job rests meanwhile', async () => {
      original.requests = [job(thisMinute() - minute, { activeTaskIds: [taskIdOf('cron', 'd1', 1)] })];
      await run();
      expect(await handOver('cron', { pauseSource: true })).toEqual([
        'stays held: cron: 1 of its tasks still run there; run this again when they have ended',
      ]);
      expect(original.requests[0]).toMatchObject({ state: 'PAUSED', activeTaskIds: [taskIdOf('cron', 'd1', 1)] });
      original.requests[0]!.taskIds.unshift(...original.requests[0]!.activeTaskIds.splice(0));
      expect(await handOver('cron', { pauseSource: true })).toEqual(['handed over: cron']);
    });

    test('a time that came due in between is run at once', async () => {
      original.requests = [job(thisMinute() - minute)];
      await run();
      expect(await handOver('cron', { pauseSource: true })).toEqual(['handed over: cron']);
      const [entry] = await queued();
      expect(entry).toMatchObject({ pendingType: 'UNPAUSED', user: 'muster import-from' });
      expect(entry!.runAt).toBeLessThanOrEqual(Date.now());
      expect(entry!.runAt! % minute).toBe(0);
    });

    test('a time that was run there, by a clock that is ahead, is not run again', async () => {
      const nextMinute = thisMinute() + minute;
      original.clock = () => nextMinute + 2_000;
      original.requests = [job(nextMinute)];
      await run();
      expect(await handOver('cron', { pauseSource: true })).toEqual(['handed over: cron']);
      expect(await queued()).toMatchObject([{ pendingType: 'UNPAUSED', runAt: nextMinute + minute }]);
    });

    test('what came due while an operator had it paused there is not run', async () => {
      original.requests = [job(thisMinute() - 60 * minute)];
      await run();
      original.requests[0]!.state = 'PAUSED';
      original.requests[0]!.planned = [];
      original.requests[0]!.events.unshift({ createdAt: thisMinute() - 50 * minute, eventType: 'PAUSED' });
      expect(await handOver('cron')).toEqual(['handed over: cron']);
      const [entry] = await queued();
      expect(entry!.pendingType).toBe('UNPAUSED');
      expect(entry!.runAt).toBeGreaterThan(thisMinute());
    });

    test.each(['IMMEDIATE', 'RETRY'])('a run that was promised there (%s) is not dropped', async (type) => {
      original.requests = [job(thisMinute(), { planned: [type] })];
      await run();
      expect(await handOver('cron', { pauseSource: true })).toEqual([
        'stays held: cron: 1 runs that were asked for wait there: run this again when they have begun',
      ]);
      expect(original.requests[0]!.state).toBe('ACTIVE');
    });
  });

  test('while it runs there, if that is wished for', async () => {
    original.requests = [originalRequest('web', { activeTaskIds: [taskIdOf('web', 'd1', 9)] })];
    await run();
    expect(await handOver('*', { sideBySide: true })).toEqual(['handed over: web']);
    expect(original.requests[0]!.state).toBe('ACTIVE');
    expect(await stateOf('web')).toBe('ACTIVE');
  });

  test('not when it was changed here, nor with a deploy that is refused here', async () => {
    original.requests = [
      originalRequest('changed', { state: 'ACTIVE' }),
      originalRequest('box', { deploys: [{ id: 'd1', deploy: { resources: { cpus: -1, memoryMb: 32 } } }] }),
    ];
    await run();
    await here.call('POST', '/api/requests', { id: 'changed', requestType: 'SERVICE', instances: 7 });
    expect((await handOver('*', { pauseSource: true })).filter((line) => line.startsWith('stays')).sort()).toEqual([
      'stays held: box: its active deploy is refused here: deploy it here',
      'stays held: changed: it was changed here since it was taken: unpause it here when the original runs it no more',
    ]);
    expect(await waiting()).toEqual([]);
    // Not paused there either.
    expect(original.requests.map(({ state }) => state)).toEqual(['ACTIVE', 'ACTIVE']);
  });
});

describe('a source that cannot be read is one clear line', () => {
  test('when it asks for authentication, and the token is not in it', async () => {
    original.authorization = 'Bearer good';
    original.requests = [originalRequest('web')];
    const refused = run({ headers: { authorization: 'Bearer bad-secret' } });
    await expect(refused).rejects.toThrow(/asks for authentication \(HTTP 401 at requests\).*--header or --token/);
    await expect(refused).rejects.not.toThrow(/bad-secret/);
    expect((await run({ headers: { authorization: 'Bearer good' } })).report.total('requests', 'TAKEN')).toBe(1);
  });

  test('when user and password stand in its address', async () => {
    original.authorization = `Basic ${Buffer.from('ada:lovelace').toString('base64')}`;
    const api = apiOf({ url: original.url.replace('//', '//ada:lovelace@') });
    expect(api.address).toBe(`${original.url}/api`);
    expect(await api.list('requests')).toEqual([]);
    await api.close();
  });

  test('when it is away', async () => {
    await expect(run({ url: 'http://127.0.0.1:1/singularity' })).rejects.toThrow(
      /^http:\/\/127.0.0.1:1\/singularity\/api does not answer \(requests, 4 attempts\): .*run it again to go on$/,
    );
  });

  test('when it answers with a page, a redirection or an error', async () => {
    original.intercept = (_path, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
      return true;
    };
    await expect(run()).rejects.toThrow(/answers with 'text\/html' where JSON is expected/);
    original.intercept = (_path, response) => {
      response.writeHead(302, { location: 'http://elsewhere/' }).end();
      return true;
    };
    await expect(run()).rejects.toThrow(/a redirection \(HTTP 302\)/);
  });

  test('but an error that passes is waited out', async () => {
    original.requests = [originalRequest('web')];
    let failures = 2;
    original.intercept = (path, response) => {
      if (path !== 'requests' || failures-- <= 0) return false;
      response.writeHead(503).end();
      return true;
    };
    expect((await run()).report.total('requests', 'TAKEN')).toBe(1);
  });
});
