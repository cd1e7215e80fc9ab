import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SimulatedCluster } from '../support/simulated-cluster/simulated-cluster.js';
import { startTestApp, type TestApp } from '../support/test-app.js';
import type { SimulatedDriver } from '../support/simulated-cluster/simulated-driver.js';

const page = readFileSync(new URL('../../docs/plan.md', import.meta.url), 'utf8');
const script = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!).join('\n');

let muster: TestApp<SimulatedDriver>;
let time: NodeJS.Timeout;
beforeAll(async () => {
  const cluster = new SimulatedCluster({ startAt: Date.now(), machines: 2 });
  muster = await startTestApp({
    driver: cluster.driver(),
    settings: { considerTaskHealthyAfterRunningForSeconds: 1 },
  });
  // The machines live in the present.
  time = setInterval(() => void cluster.advance(Math.max(Date.now() - cluster.now(), 0)), 50);
}, 60_000);
afterAll(async () => {
  clearInterval(time);
  await muster.close();
});

test('docs/plan.md does what it says', async () => {
  const { failed, output } = await new Promise<{ failed: boolean; output: string }>((resolve) => {
    execFile(
      'bash',
      ['--norc', '-euo', 'pipefail', '-c', script],
      { timeout: 90_000, env: { ...process.env, MUSTER_PORT: new URL(muster.url).port } },
      (error, stdout, stderr) => resolve({ failed: error !== null, output: stdout + stderr }),
    );
  });
  expect(failed, output).toBe(false);
  const refused = output.split('\n').filter((line) => /"status":[45]\d\d/.test(line));
  expect(refused).toEqual([expect.stringMatching(/"status":409,"code":"CHANGED_MEANWHILE"/)]);
  for (const shown of [
    '{"path":"deploy.deployInstanceCountPerStep","to":1}',
    '{"path":"deploy.env.COLOUR","from":"red","to":"blue"}',
    '{"path":"deploy.id","from":"v1","to":"v2"}',
    '"message":"1 of 1 tasks fit now"',
    '"fits":true,"starting":3,"stopping":3',
    '"changes":[{"path":"request.instances","from":3,"to":1}]',
    '"deployId":"v1.rollback1","rolledBackTo":"v1"',
    '"deployId":"v2.rollback1","rolledBackTo":"v2"',
  ])
    expect(output).toContain(shown);
}, 120_000);
