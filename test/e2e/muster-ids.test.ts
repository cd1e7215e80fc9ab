import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SimulatedCluster } from '../support/simulated-cluster/simulated-cluster.js';
import type { SimulatedDriver } from '../support/simulated-cluster/simulated-driver.js';
import { startTestApp, type TestApp } from '../support/test-app.js';
import { waitFor } from '../support/wait-for.js';
import { Api } from './support/api.js';
import { muster } from './support/muster-command.js';

/* An id that is accepted can be managed by the commands, whatever it looks like: those of the built product, as processes. */

const cluster = new SimulatedCluster({ machines: 0 });
const machine = { slaveId: '...', hostname: 'h/1 ü', rackId: 'r/1 %2F ?#;ü' };
let app: TestApp<SimulatedDriver>;
let api: Api;
beforeAll(async () => {
  app = await startTestApp({ driver: cluster.driver() });
  api = new Api(app.url);
  cluster.addMachine(machine);
  await waitFor(
    'the machine',
    async () => (await cluster.advance(10), (await api.get<unknown[]>('slaves')).length > 0),
  );
}, 60_000);
afterAll(() => app.close());

/** Output of the command, which has to end well. */
async function done(...words: string[]): Promise<string> {
  const { code, out, err } = await muster(words, { env: { MUSTER_URL: app.url } });
  expect([words.join(' '), code, err]).toEqual([words.join(' '), 0, '']);
  return out;
}

describe.each([
  { name: 'beside words of paths', request: 'request', deploy: '...', run: '/%2F+ ?#..' },
  { name: 'as a task is called', request: 'a-b-1700000000000-1-h-r', deploy: '.a', run: "it's $(id)" },
  { name: 'as a task that waits is called', request: 'a-2024-Q-1', deploy: 'a_.', run: 'a/../b' },
])('ids $name', ({ request, deploy, run }) => {
  test('a request, its deploy, its run and its task', async () => {
    await api.saveRequest({ id: request, requestType: 'ON_DEMAND' });
    const resources = { cpus: 0.1, memoryMb: 8 };
    await api.deploy({ requestId: request, id: deploy, command: 'sleep 1', resources });
    expect(await done('run', request, '--detach', '--run-id', run)).toBe(`${run}\n`);
    const taskId = await waitFor('its task', async () => {
      await cluster.advance(20);
      return (await api.activeTasks(request))[0]?.taskId.id;
    });
    const [ps, about, ofTask, deploys, address] = await Promise.all([
      done('ps', request),
      done('explain', request),
      // Its own id looks the same as one of the requests.
      done('history', taskId),
      done('history', request, '--deploys'),
      done('open', request, '--print'),
    ]);
    expect(ps).toContain(taskId);
    expect(about).toContain(`${request} is ACTIVE`);
    expect(ofTask).toContain('LAUNCHED');
    expect(deploys.split('\n')[1]).toMatch(new RegExp(`^${deploy.replaceAll('.', '\\.')}\t`));
    expect(address).toBe(`${app.url}/ui/request/${request}\n`);
    expect(await done('kill', request)).toContain(`${taskId} is being killed`);
    await waitFor('its end', async () => (await cluster.advance(20), (await api.activeTasks(request)).length === 0));
    expect(await done('history', request, '--deploy', deploy, '--run-id', run)).toContain(taskId);
    expect(await done('remove', request)).toBe(`${request} is being removed\n`);
  }, 120_000);
});

test('machines and racks', async () => {
  expect(await done('slaves')).toContain(`${machine.slaveId}\tACTIVE`);
  const states = async (kind: string) =>
    (await api.get<{ currentState: { state: string } }[]>(kind)).map(({ currentState }) => currentState.state);
  await done('freeze', machine.slaveId);
  expect(await states('slaves')).toEqual(['FROZEN']);
  await done('activate', machine.slaveId);
  await done('freeze', '--rack', machine.rackId);
  expect([await states('slaves'), await states('racks')]).toEqual([['ACTIVE'], ['FROZEN']]);
}, 60_000);
