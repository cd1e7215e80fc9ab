import { linkSync, symlinkSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TaskSandbox } from '../../src/cluster/cluster-driver.js';
import { AgentCluster } from '../support/agent-cluster.js';

/* The files with a task's environment, by every name that they can be given. */

let cluster: AgentCluster;
let area: string;
const views = {} as Record<'ALL' | 'OF_TASK', TaskSandbox>;

beforeAll(async () => {
  cluster = await AgentCluster.start();
  const data = { cmd: 'echo said', skipLogrotateAndCompress: true };
  const spec = await cluster.run('', {
    executorData: data,
    command: { shell: true, value: data.cmd, arguments: [] },
    environment: { MYSQL_PWD: 's3cr3t' },
  });
  await cluster.untilState(spec, 'TASK_FINISHED');
  area = spec.taskId.replaceAll(':', '_');
  const at = (path: string) => cluster.sandbox(spec, area, path);
  symlinkSync('deploy.env', at('link'));
  symlinkSync('link', at('link-to-link'));
  symlinkSync(at('deploy.env'), at('absolute'));
  symlinkSync('..', at('app/up'));
  symlinkSync('.', at('here'));
  linkSync(at('deploy.env'), at('hard'));
  for (const view of ['ALL', 'OF_TASK'] as const)
    views[view] = (await cluster.driver.sandbox(spec.taskId, 's1', view))!;
});
afterAll(() => cluster.close());

describe('a caller who asks for files of the task', () => {
  test.each([
    'deploy.env',
    'runner.sh',
    './deploy.env',
    'app/../deploy.env',
    'link',
    'link-to-link',
    'absolute',
    'app/up/deploy.env',
    'here/here/deploy.env',
    'hard',
  ])('does not get %s', async (name) => {
    const path = `${area}/${name}`;
    expect(await views.OF_TASK.read(path, 0, 100)).toBeUndefined();
    expect(await views.OF_TASK.download(path)).toBeUndefined();
    if (name.includes('..') || name.startsWith('./')) return;
    expect((await views.ALL.read(path, 0, 1_000))?.size, name).toBeGreaterThan(0);
  });

  test('does not see them in a list, under any name', async () => {
    const names = async (view: 'ALL' | 'OF_TASK') => (await views[view].list(area))!.map(({ name }) => name);
    expect(await names('ALL')).toEqual(expect.arrayContaining(['deploy.env', 'runner.sh', 'hard']));
    const seen = await names('OF_TASK');
    for (const name of ['deploy.env', 'runner.sh', 'hard']) expect(seen).not.toContain(name);
    expect(seen).toContain('service.log');
  });

  test('gets everything else', async () => {
    expect(await views.OF_TASK.read(`${area}/service.log`, 0, 100)).toBeDefined();
  });
});
