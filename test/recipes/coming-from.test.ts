import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import { type Api, portsOf } from '../e2e/support/api.js';
import { shell } from '../e2e/support/muster-command.js';
import { Installation } from '../e2e/support/product.js';
import { freePort } from '../support/free-port.js';
import { Prometheus } from '../support/prometheus.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { replaceAll } from './product.js';

/* The files of docs/coming-from.md, as they stand there, on the built product with its local driver. */

const page = readFileSync(new URL('../../docs/coming-from.md', import.meta.url), 'utf8');

/** A file of another scheduler, and the one that does the same here. */
interface Translation {
  title: string;
  original: string;
  file: string;
}
const translations: Translation[] = page
  .split(/^### /m)
  .slice(1)
  .map((section) => ({
    title: section.slice(0, section.indexOf('\n')),
    original: /```(?:hcl|json)\n([\s\S]*?)```/.exec(section)![1]!,
    file: /```yaml\n([\s\S]*?)```/.exec(section)![1]!,
  }));
const translationOf = (title: string): Translation => translations.find((each) => each.title === title)!;

let installation: Installation;
let api: Api;
let prometheus: Prometheus | undefined;
beforeAll(async () => {
  prometheus = Prometheus.isInstalled() ? await Prometheus.start() : undefined;
  const settings = {
    checkAutoscaleEverySeconds: 1,
    spreadAllSlavesEnabled: true,
    ...(prometheus && { prometheus: { uri: prometheus.url } }),
  };
  installation = new Installation({ database: createDatabase, hostname: '127.0.0.1', settings });
  ({ api } = await installation.start());
}, 120_000);
afterAll(async () => {
  await installation?.dispose();
  await prometheus?.close();
}, 90_000);

const enough = { timeoutMillis: 90_000 };
async function command(line: string, stdin?: string): Promise<string> {
  const { code, out, err } = await shell(line, { env: { MUSTER_URL: api.url }, stdin });
  if (code !== 0) throw new Error(`Exit code ${code}: ${line}\n${out}${err}`);
  return out;
}
const apply = (file: string) => command('muster apply -f - --wait', file);
/** Another version of the file: its first variable has another value. */
const nextVersion = (file: string): string => {
  const changed = file.replace("VERSION: '1'", "VERSION: '2'");
  expect(changed).not.toBe(file);
  return changed;
};
const answerOf = (port: number) => fetch(`http://127.0.0.1:${port}/`);
const directoryOf = async (taskId: string): Promise<string> => (await api.history(taskId)).directory!;
const untilEnded = (requestId: string, count = 1) =>
  waitFor(
    `${count} ended tasks of ${requestId}`,
    async () => {
      const ended = await api.endedTasks(requestId);
      return ended.length >= count && ended;
    },
    enough,
  );

/** One task turns sick, and another one takes its place. Answers the last words about it. */
async function replacesTheSick(requestId: string, instances: number): Promise<string> {
  const [victim] = await api.running(requestId, instances);
  expect((await answerOf(portsOf(victim!)[0]!)).status).toBe(200);
  writeFileSync(join(await directoryOf(victim!.taskId.id), 'sick'), '');
  await waitFor(
    `the end of the sick task of ${requestId}`,
    async () => (await api.endedTasks(requestId)).some(({ taskId }) => taskId.id === victim!.taskId.id),
    enough,
  );
  const { taskUpdates } = await api.history(victim!.taskId.id);
  expect(taskUpdates.map(({ statusMessage }) => statusMessage).join('\n')).toContain('UNHEALTHY_TASK');
  const left = await api.running(requestId, instances, 60_000);
  expect(left.map(({ taskId }) => taskId.id)).not.toContain(victim!.taskId.id);
  return taskUpdates.at(-1)!.statusMessage!;
}

/** A check of a translation: the file with the pauses of the page made short. By its title. */
const checks: Record<string, (file: string) => Promise<void>> = {
  'A service with checks, restarts and a canary': async (file) => {
    const quick = { 'intervalSeconds: 5': 'intervalSeconds: 1', 'durationMillis: 10000': 'durationMillis: 1000' };
    const first = replaceAll(file, quick);
    const approvedToItsEnd = async (text: string) => {
      await command('muster apply -f -', text);
      const [deploy] = await api.get<{ deployMarker: { deployId: string } }[]>('history/request/shop/deploys');
      const { deployId } = deploy!.deployMarker;
      const canary: number[] = [];
      await waitFor(
        'the end of the deploy, with its approvals',
        async () => {
          const { deployResult, gates = [] } = await api.deployHistory('shop', deployId);
          if (deployResult) return true;
          if (!gates.some(({ type, state }) => type === 'MANUAL' && state === 'WAITING')) return false;
          const tasks = await api.activeTasks('shop');
          canary.push(tasks.filter(({ taskId }) => taskId.deployId === deployId).length);
          await command('muster approve shop');
          return false;
        },
        enough,
      );
      const { deployResult, gates } = await api.deployHistory('shop', deployId);
      expect(deployResult).toMatchObject({ deployState: 'SUCCEEDED' });
      expect(gates?.map(({ type, state }) => `${type} ${state}`)).toEqual([
        'BAKE PASSED',
        'MANUAL PASSED',
        'BAKE PASSED',
        'MANUAL PASSED',
      ]);
      return canary;
    };
    expect(await approvedToItsEnd(first)).toEqual([1, 3]);
    expect(await approvedToItsEnd(first.replace('LOG_LEVEL: info', 'LOG_LEVEL: debug'))).toEqual([1, 3]);
    expect(await replacesTheSick('shop', 3)).toMatch(/SIGINT|exit code 130|signal 2/);
    expect((await api.request('shop')).request.restart).toMatchObject({ maxRestarts: 5 });
  },

  'A service with a static port': async (file) => {
    const port = await freePort();
    const first = file.replaceAll('9000', String(port));
    const answer = async () => (await answerOf(port)).text();
    await apply(first);
    expect(await waitFor('the first version', answer)).toBe('1');
    await apply(nextVersion(first));
    expect(await waitFor('the second version', async () => (await answer()) === '2')).toBe(true);
    const [old] = await untilEnded('ledger');
    const [present] = await api.running('ledger', 1);
    expect(present!.taskId.startedAt).toBeGreaterThanOrEqual(old!.updatedAt);
  },

  'A periodic job with several times': async (file) => {
    await apply(file);
    const { nextRuns } = await api.request('invoices');
    expect(nextRuns!.length).toBeGreaterThan(0);
    for (const { local } of nextRuns!) expect(local).toMatch(/T06:00:00|-01T12:00:00/);
    // Soon, and with a short delay, in place of the next morning.
    const soon = file
      .replace(/schedules: .*/, "schedules: [{ schedule: '* * * * * ?', scheduleType: QUARTZ }]")
      .replace('delayMillis: 10000', 'delayMillis: 100');
    await command('muster apply -f -', soon);
    const tries = await waitFor(
      'three tries of one run',
      async () => {
        const ended = await api.endedTasks('invoices');
        const histories = await Promise.all(ended.map(({ taskId }) => api.history(taskId.id)));
        const tried = histories.map(({ task }) => task.taskRequest.pendingTask);
        const last = tried.find(({ attempt }) => attempt === 3);
        return last && tried.filter(({ runId }) => runId === last.runId).map(({ attempt }) => attempt ?? 1);
      },
      enough,
    );
    expect(tries.toSorted()).toEqual([1, 2, 3]);
    await command('muster pause invoices');
  },

  'A parameterized job': async (file) => {
    await apply(file);
    const [, line] = /becomes `(muster run [^`]*)`/.exec(page)!;
    expect(await command(line!)).toContain('thumbnail of cat.png');
  },

  'A system job with a script as its check': async (file) => {
    await apply(file);
    const [task] = await api.running('collector', 1);
    const { healthcheckResults } = await api.history(task!.taskId.id);
    expect(healthcheckResults.length).toBeGreaterThan(0);
  },

  'A group that is scaled by a query': async (file) => {
    if (!prometheus) return;
    await apply(replaceAll(file, { 'sum(queue_length)': 'vector(150)' }));
    expect(await api.running('orders', 3, 60_000)).toHaveLength(3);
  },

  'An app with health checks and back-off': async (file) => {
    await apply(file.replace('intervalSeconds: 10', 'intervalSeconds: 1'));
    await replacesTheSick('catalog', 2);
  },

  'An app that is stopped before its new version starts': async (file) => {
    await apply(file);
    const before = await api.running('licensed', 2);
    await apply(nextVersion(file));
    const after = await api.running('licensed', 2);
    const ended = await untilEnded('licensed', 2);
    expect(ended.map(({ taskId }) => taskId.id).toSorted()).toEqual(before.map(({ taskId }) => taskId.id).toSorted());
    const lastEnd = Math.max(...ended.map(({ updatedAt }) => updatedAt));
    for (const { taskId } of after) expect(taskId.startedAt).toBeGreaterThanOrEqual(lastEnd);
  },

  'An app with a command as its health check': async (file) => {
    await apply(file);
    const [task] = await api.running('spooler', 1);
    const { healthcheckResults } = await api.history(task!.taskId.id);
    expect(healthcheckResults.length).toBeGreaterThan(0);
  },

  'A group with dependencies': async (file) => {
    await apply(file);
    const [db] = await api.running('store-db', 1);
    const [web] = await api.running('store-web', 1);
    const { healthcheckResults } = await api.history(db!.taskId.id);
    expect(web!.taskId.startedAt).toBeGreaterThanOrEqual(
      Math.max(...healthcheckResults.map(({ timestamp }) => timestamp)),
    );
  },
};

test('each file of the page has a check, and each check its file', () => {
  expect(translations.map(({ title }) => title)).toEqual(Object.keys(checks));
});

describe('does what the original did:', () => {
  test.concurrent.each(Object.keys(checks))('%s', (title) => checks[title]!(translationOf(title).file), 240_000);
});

test.each(translations)('the translation of "$title" keeps the number of instances', ({ original, file }) => {
  const documents = parseAllDocuments(file).map(
    (document) => document.toJS() as Partial<Request> & { deploy?: Deploy },
  );
  const [, count] = /(?:count\s*=|"instances":)\s*(\d+)/.exec(original) ?? [];
  const requests = documents.filter((document) => document.id !== undefined);
  expect(requests.every(({ instances }) => String(instances ?? 1) === (count ?? '1'))).toBe(true);
});

describe('names that the page uses', () => {
  const spec = readFileSync(new URL('../../docs/job-specification.md', import.meta.url), 'utf8');
  const commands = readFileSync(new URL('../../docs/command-line.md', import.meta.url), 'utf8');
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| /, '').trim()));
  const columns = rows.filter((cells) => cells.length > 2).map((cells) => cells[1]!);
  const words = columns.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word!));
  const members = words.flatMap((word) => word.match(/^[a-z]\w*(?:\.\w+)*(?=$|:)/) ?? []);

  test('are fields of the job specification', () => {
    expect(members.length).toBeGreaterThan(50);
    const unknown = members.flatMap((path) => path.split('.')).filter((name) => !spec.includes(`| \`${name}\` |`));
    expect(unknown.filter((name) => !['check', 'plan', 'apply', 'remove', 'explain'].includes(name))).toEqual([]);
  });
  test('are commands', () => {
    const named = [...page.matchAll(/`muster ([a-z]+)/g)].map(([, name]) => name!);
    expect(named.filter((name) => !commands.includes(`### muster ${name}\n`))).toEqual([]);
  });
});
