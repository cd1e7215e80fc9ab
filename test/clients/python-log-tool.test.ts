import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Deploy } from '../../src/core/model/deploy.js';
import { startObjectStore, type TestObjectStore, withoutObjectStore } from '../support/object-store.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';
import type { Api } from '../e2e/support/api.js';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';
import { findLogTool, LogToolHome } from './python-log-tool.js';

/*
 * The published Python log tool, unmodified, with every command and option of it that asks a server for something. It finds
 * tasks and their files by the API, and fetches the files from the machine of the task, always at port 5051: here that of a
 * loopback address of its own.
 */

vi.setConfig({ testTimeout: 120_000 });

const tool = await findLogTool();
const machine = '127.5.0.51';
const readToken = 'read-only-0123456789';
const folder = tempFolder();

const command = [
  'mkdir -p logs',
  'echo plain',
  'echo "app alpha" > app.log',
  'echo "GET / alpha" > logs/access.log',
  'echo "oops" > app.err',
  'echo "out" > app.out',
  'touch empty.log',
  'echo "no log" > notes.txt',
  'mkdir folder.log',
  'exec sleep 1000',
].join('; ');
const resources = { cpus: 0.1, memoryMb: 16, numPorts: 0 };

describe.skipIf(tool === undefined || withoutObjectStore !== undefined)('the Python log tool 0.29.3', () => {
  let installation: Installation;
  let store: TestObjectStore;
  let api: Api;
  let home: LogToolHome;
  /** Ids of tasks: two of web, one each of web-api d1 and d2 (one after the other), one of a job that has ended. */
  let web: string[];
  let before: string;
  let after: string;
  let ended: string;

  beforeAll(async () => {
    store = await startObjectStore('logs');
    const objstore = { objstoreBucket: 'logs', endpoint: store.url, ...store.keys };
    installation = new Installation({
      database: createDatabase,
      settings: {
        compatibility: '1.5',
        http: { contextPath: '/singularity' },
        sandboxDefaultsToTaskId: true,
        objstore,
      },
      // What is in the store was put there by the uploader of the older installation.
      local: { files: { readToken, host: machine }, uploaderInUse: true },
      hostname: machine,
    });
    api = (await installation.start()).api;
    const deploy = (requestId: string, id: string, own: Partial<Deploy> = {}) =>
      api.deploy({ requestId, id, command, resources, considerHealthyAfterRunningForSeconds: 0, ...own });
    await api.saveRequest({ id: 'web', requestType: 'SERVICE', instances: 2 });
    await api.saveRequest({ id: 'web-api', requestType: 'SERVICE' });
    await api.saveRequest({ id: 'job', requestType: 'ON_DEMAND' });
    await deploy('web', 'd1');
    await deploy('web-api', 'd1');
    await deploy('job', 'd1', { command: 'echo "job done" > job.log' });
    web = (await api.running('web', 2)).map(({ taskId }) => taskId.id);
    before = (await api.running('web-api', 1))[0]!.taskId.id;
    await api.deployEnded('web-api', 'd1');
    await deploy('web-api', 'd2');
    await api.deployEnded('web-api', 'd2');
    after = (await api.running('web-api', 1))[0]!.taskId.id;
    await api.post('requests/request/job/run', { runId: 'r1' });
    ended = await waitFor('the end of the job', async () => (await api.endedTasks('job'))[0]?.taskId.id);
    const at = Date.now() - 3_600_000;
    const month = new Date(at).toISOString().slice(0, 7).replace('-', '/');
    store.put('logs', `web/${month}/${web[0]}_0-${at}-app.log`, { body: 'stored alpha\n', at });
    const url = `${api.url}/api`;
    home = new LogToolHome(tool!, folder.path, { url, headers: { 'X-Muster-Read-Token': readToken } });
  }, 180_000);
  afterAll(async () => {
    await installation?.dispose();
    await store?.close();
    folder.remove();
  }, 90_000);
  beforeEach(() => home.forget());

  /** Everything that a task of web or web-api has and that the tool takes for a log. */
  const filesOf = (taskId: string): Record<string, string> => ({
    [`${taskId}-app.log`]: 'app alpha\n',
    [`${taskId}-access.log`]: 'GET / alpha\n',
    [`${taskId}-app.err`]: 'oops\n',
    [`${taskId}-app.out`]: 'out\n',
  });
  const filesOfAll = (...taskIds: string[]) => Object.assign({}, ...taskIds.map(filesOf)) as Record<string, string>;
  /** Flag for logs that lie on the machines only. */
  const live = ['-S'];

  describe('logfetch', () => {
    test('of a task: every log of it, from its folder and its logs folder, and nothing else', async () => {
      const { stderr } = await home.run('logfetch', ...live, '-t', web[0]!);
      expect(home.fetched()).toEqual(filesOf(web[0]!));
      expect(stderr).toBe('');
    });

    test('of a request: those of all its tasks', async () => {
      await home.run('logfetch', ...live, '-r', 'web');
      expect(home.fetched()).toEqual(filesOfAll(...web));
    });

    test('of requests by a pattern, of tasks that have ended, too', async () => {
      await home.run('logfetch', ...live, '-r', 'web*');
      expect(home.fetched()).toEqual(filesOfAll(...web, before, after));
    });

    test('of one deploy, or of deploys by a pattern', async () => {
      await home.run('logfetch', ...live, '-r', 'web-api', '-d', 'd1');
      expect(home.fetched()).toEqual(filesOf(before));
      home.forget();
      await home.run('logfetch', ...live, '-r', 'web-api', '-d', 'd*');
      expect(home.fetched()).toEqual(filesOfAll(before, after));
    });

    test('of a job that has ended', async () => {
      await home.run('logfetch', ...live, '-t', ended);
      expect(home.fetched()).toEqual({ [`${ended}-job.log`]: 'job done\n' });
    });

    test.each([
      { wanted: 'access.log', names: ['access.log'] },
      { wanted: 'logs/access.log', names: ['access.log'] },
      { wanted: '*.log', names: ['app.log', 'access.log'] },
      { wanted: '*.err', names: ['app.err'] },
    ])('by name: $wanted', async ({ wanted, names }) => {
      await home.run('logfetch', ...live, '-t', web[0]!, '-l', wanted);
      expect(Object.keys(home.fetched()).sort()).toEqual(names.map((name) => `${web[0]}-${name}`).sort());
    });

    test.each([
      { name: 'since yesterday', words: ['-s', '1'], found: 2 },
      { name: 'of days that are to come', words: ['-s', '2100-01-01', '-e', '2100-01-02'], found: 0 },
      { name: 'of days that are over', words: ['-s', '2020-01-01', '-e', '2020-01-02 10:00:00'], found: 0 },
      { name: 'of the year, in local time', words: ['-z', '-s', '2020-01-01', '-e', '2100-01-01'], found: 2 },
    ])('by time: $name', async ({ words, found }) => {
      await home.run('logfetch', ...live, '-r', 'web', '-l', 'app.log', ...words);
      expect(Object.keys(home.fetched())).toHaveLength(found);
    });

    test('of the newest tasks, few at once, in small pieces, into a folder that is named', async () => {
      const into = `${folder.path}/elsewhere`;
      await home.run('logfetch', ...live, '-r', 'web', '-T', '1', '-n', '1', '-C', '3', '-o', into, '-l', 'app.log');
      expect(Object.values(home.fetched(into))).toEqual(['app alpha\n']);
    });

    test('and looks for words in them', async () => {
      const { stdout } = await home.run('logfetch', ...live, '-t', web[0]!, '-g', 'alpha');
      expect(stdout).toBe('GET / alpha\napp alpha\n');
      const counted = await home.run('logfetch', ...live, '-t', web[0]!, '-g', 'grep -c alpha');
      expect(counted.stdout).toBe('1\n0\n1\n0\n');
    });

    test('only downloads, says what it does, and does not fetch again what it has', async () => {
      await home.run('logfetch', ...live, '-t', web[0]!, '-D', '-V');
      const first = home.fetched();
      const { stdout } = await home.run('logfetch', ...live, '-U', '-t', web[0]!, '-g', 'alpha');
      expect(home.fetched()).toEqual(first);
      expect(stdout).toBe('GET / alpha\napp alpha\n');
    });

    test('of the object store, of one task and of a request', async () => {
      for (const words of [
        ['-t', web[0]!],
        ['-r', 'web'],
        ['-r', 'we*'],
        ['-r', 'web', '-d', 'd1', '-l', 'app.log'],
      ]) {
        home.forget();
        const { stderr } = await home.run('logfetch', '-L', ...words);
        expect([words, Object.values(home.fetched()), stderr]).toEqual([words, ['stored alpha\n'], '']);
      }
    });

    test('of both', async () => {
      await home.run('logfetch', '-t', web[0]!);
      expect(Object.values(home.fetched())).toHaveLength(5);
    });
  });

  describe('logcat', () => {
    test('prints the logs of a task, a request, a deploy, by name', async () => {
      expect((await home.run('logcat', ...live, '-t', web[0]!, '-l', 'app.log')).stdout).toBe('app alpha\n\n');
      expect((await home.run('logcat', ...live, '-r', 'web', '-l', 'access.log')).stdout).toBe(
        'GET / alpha\n\n'.repeat(2),
      );
      const { stdout } = await home.run('logcat', ...live, '-r', 'web*', '-d', 'd2', '-l', '*.err', '-i', '-V');
      expect(stdout).toBe('oops\n\n');
    });

    test('prints what was stored, and once more from what it has fetched', async () => {
      expect((await home.run('logcat', '-L', '-t', web[0]!)).stdout).toBe('stored alpha\n\n');
      expect((await home.run('logcat', '-O', '-t', web[0]!)).stdout).toBe('stored alpha\n\n');
    });
  });

  test('logsearch looks into what was fetched', async () => {
    await home.run('logfetch', ...live, '-r', 'web*');
    expect((await home.run('logsearch', '-t', web[0]!, '-g', 'alpha')).stdout).toBe('GET / alpha\napp alpha\n');
    expect((await home.run('logsearch', '-r', 'web-api', '-d', 'd2', '-l', 'app.log', '-g', 'alpha')).stdout).toBe(
      'app alpha\n',
    );
    expect((await home.run('logfetch', '--search', '-r', 'web', '-g', 'oops')).stdout).toBe('oops\n'.repeat(4));
  });

  describe('logtail', () => {
    /** A task that writes a line twice a second, with characters of several bytes. */
    beforeAll(async () => {
      await api.saveRequest({ id: 'ticker', requestType: 'SERVICE', instances: 1 });
      const line =
        'for i in $(seq 1 100000); do echo "tick $i é€𝄞" | tee -a tick.log logs/tick.log >/dev/null; sleep 0.5; done';
      await api.deploy({ requestId: 'ticker', id: 'd1', command: `mkdir logs; ${line}`, resources });
      await api.running('ticker', 1);
    }, 60_000);

    test.each([
      { name: 'of a task', words: ['-t', 'TASK'], file: 'tick.log' },
      { name: 'of a request, in its logs folder', words: ['-r', 'ticker'], file: 'logs/tick.log' },
      { name: 'of deploys by a pattern', words: ['-r', 'tick*', '-d', 'd*', '-V'], file: 'tick.log' },
    ])('follows a file $name, and loses nothing of it', async ({ words, file }) => {
      const [task] = await api.running('ticker', 1);
      const given = words.map((word) => (word === 'TASK' ? task!.taskId.id : word));
      const tail = home.begin('logtail', ...given, '-l', file);
      onTestFinished(() => tail.kill());
      const numbers = () => [...tail.stdout.matchAll(/^tick (\d+) é€𝄞$/gm)].map(([, number]) => Number(number));
      // It asks every five seconds.
      await waitFor('two of its looks', () => numbers().length > 12, { timeoutMillis: 60_000, everyMillis: 200 });
      const [first] = numbers();
      expect(numbers()).toEqual(numbers().map((_, index) => first! + index));
      expect(tail.stderr).toBe('');
    });

    test('of a file that is not there, it lists those that are', async () => {
      const { stderr } = await home.run('logtail', '-t', web[0]!, '-l', 'none.log');
      expect(stderr).toContain('Could not find log file at path none.log');
      expect(stderr.split('\n').sort()).toEqual(
        expect.arrayContaining(['app.err', 'app.log', 'app.out', 'logs/access.log']),
      );
    });
  });

  test('a long file arrives whole', async () => {
    await api.saveRequest({ id: 'long', requestType: 'ON_DEMAND' });
    await api.deploy({ requestId: 'long', id: 'd1', command: 'seq 1 1000000 > long.log', resources });
    await api.post('requests/request/long/run', { runId: 'r1' });
    const id = await waitFor('its end', async () => (await api.endedTasks('long'))[0]?.taskId.id);
    await home.run('logfetch', ...live, '-t', id);
    const [text] = Object.values(home.fetched());
    expect([text!.length, text!.endsWith('\n1000000\n')]).toEqual([6_888_896, true]);
  });

  test('what plain commands print is in stdout and stderr, which it takes for no logs, as ever; that of executors is', async () => {
    const executorData = { cmd: "sh -c 'echo printed; exec sleep 1000'" };
    await api.saveRequest({ id: 'managed', requestType: 'SERVICE' });
    await api.deploy({ requestId: 'managed', id: 'd1', executorData, customExecutorCmd: 'executor', resources });
    const [task] = await api.running('managed', 1);
    const wanted = `${task!.taskId.id}-service.log`;
    const fetch = async () => {
      await home.run('logfetch', ...live, '-r', 'managed');
      return wanted in home.fetched();
    };
    await waitFor('what it has printed', fetch, { everyMillis: 1_000 });
    expect(home.fetched()[wanted]).toBe('printed\n');
    // As of every task of a plain command before: nothing of these is fetched, nor by name.
    await home.run('logfetch', ...live, '-t', web[0]!, '-l', 'std*');
    expect(Object.keys(home.fetched()).filter((name) => name.startsWith(web[0]!))).toEqual([]);
  });
});
