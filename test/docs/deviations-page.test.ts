import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadSettings, SettingsError } from '../../src/platform/settings/load-settings.js';
import { tempFolder } from '../support/temp-folder.js';
import { startTestApp, type TestApp } from '../support/test-app.js';
import { SimulatedCluster } from '../support/simulated-cluster/simulated-cluster.js';

/* Differences that a comparison with the original has found stand on the page, and are as it says. */

const page = readFileSync(new URL('../../docs/deviations.md', import.meta.url), 'utf8').split('\n');
const folder = tempFolder();
let app: TestApp<ReturnType<SimulatedCluster['driver']>>;
beforeAll(async () => {
  app = await startTestApp({ driver: new SimulatedCluster({ machines: 0 }).driver() });
}, 60_000);
afterAll(async () => {
  folder.remove();
  await app.close();
});

/** The one entry that begins so, for the reader of a failure. */
const entry = (begins: string): string[] => page.filter((line) => line.startsWith(`- ${begins}`));

test.each<[begins: string, method: string, path: string, body: object | undefined, status: number, answer: unknown]>([
  ['`OPTIONS` is 204', 'OPTIONS', 'requests', undefined, 204, undefined],
  ['`POST /api/users/settings` without `starredRequestIds` is 400', 'POST', 'users/settings', {}, 400, { status: 400 }],
  [
    'a priority freeze without `killTasks` kills nothing',
    'POST',
    'priority/freeze',
    { minimumPriorityLevel: 0.9 },
    200,
    { priorityFreeze: expect.objectContaining({ killTasks: false }) as unknown },
  ],
])('%s', async (begins, method, path, sent, status, answer) => {
  expect(entry(begins)).toHaveLength(1);
  const headers = { 'content-type': 'application/json' };
  const given = await fetch(`${app.url}/api/${path}`, { method, headers, body: sent && JSON.stringify(sent) });
  const text = await given.text();
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  expect([given.status, body]).toEqual([
    status,
    answer === undefined ? undefined : expect.objectContaining(answer as object),
  ]);
});

test.each([
  // Tried in test/operations/sandbox-and-track.test.ts and src/scheduler/retries.test.ts.
  "a read of a sandbox's file without `offset` answers from the first byte",
  'a retry of a RUN_ONCE run belongs to the deploy of that run, also after another deploy',
])('%s', (begins) => expect(entry(begins)).toHaveLength(1));

test('the default of checkSchedulerEverySeconds, and keys that are gone', () => {
  const load = (text: string) => {
    const file = join(folder.path, 'settings.yaml');
    writeFileSync(file, text);
    return loadSettings({ environment: { MUSTER_CONFIG: file } });
  };
  expect(entry('`checkSchedulerEverySeconds` is 1 by default')).toHaveLength(1);
  expect(load('').checkSchedulerEverySeconds).toBe(1);
  const [cleanup = ''] = entry('the agent keeps no record of a clean-up');
  for (const key of ['safeModeWontRunWithNoTasks', 'cleanTasksWhenDecommissioned', 'runDockerCleanup']) {
    expect(cleanup).toContain(`\`${key}\``);
    expect(() => load(`${key}: true`)).toThrow(SettingsError);
  }
});
