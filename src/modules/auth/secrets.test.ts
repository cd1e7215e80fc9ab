import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAuthApp, type Answer, type AuthApp } from '../../../test/support/auth/auth-app.js';
import { insertTask } from '../../../test/support/builders.js';
import { FileDriver, sandboxRoot } from '../../../test/support/file-driver.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { Database } from '../../platform/database/database.js';

/* What holds passwords is shown to callers with WRITE only, in every answer: ann has it, rita has READ. */

const users = { ann: ['web'], rita: ['readers'], alma: ['admins'] };
type Who = keyof typeof users;
const secret = 's3cr3t';
const groups = { group: 'web', readOnlyGroups: ['readers'] };
const deploy = {
  requestId: 'jobs',
  command: `run --db-password=${secret}`,
  arguments: ['--token', secret, '--verbose'],
  env: { MYSQL_PWD: secret, CONNECTION_STRING: `postgres://u:${secret}@h/db` },
};

class Shop {
  readonly driver = new FileDriver();
  taskId: string;
  app: AuthApp;
  private readonly tokens = {} as Record<Who, string>;

  async start(auth: object = {}): Promise<void> {
    const rights = { enabled: true, adminGroups: ['admins'], ...auth };
    this.app = await startAuthApp({ auth: rights }, { driver: this.driver });
    for (const [id, of] of Object.entries(users)) {
      this.tokens[id as Who] = await this.app.tokenOf({ id, groups: of, email: `${id}@example.com` });
    }
    await this.call('ann', 'POST', '/api/requests', { id: 'jobs', requestType: 'ON_DEMAND', ...groups });
    await this.call('ann', 'POST', '/api/deploys', { deploy: { ...deploy, id: 'd1' } });
    const run = { commandLineArgs: ['--password', secret], runId: 'r1', runAt: Date.now() + 3_600_000 };
    await waitFor('the deploy', async () => {
      const body = { ...run, envOverrides: { PGPASS: secret } };
      return (await this.call('ann', 'POST', '/api/requests/request/jobs/run', body)).status === 200;
    });
    const waits = async () => (await this.call('alma', 'GET', '/api/tasks/scheduled')).body as unknown as unknown[];
    await waitFor('the run to wait', async () => (await waits()).length > 0);
    const task = { requestId: 'jobs', deployId: 'd1', directory: 'known' };
    const { pool } = this.app.get(Database);
    ({ id: this.taskId } = await insertTask(pool, { ...task, startedAt: Date.now() }));
    for (const [name, text] of [
      ['deploy.env', `export MYSQL_PWD="${secret}"`],
      ['service.log', 'hello'],
    ] as const) {
      this.driver.put(this.taskId, `${this.taskId}/${name}`, text);
    }
    this.driver.startFiles.add(`${this.taskId}/deploy.env`);
  }

  call(who: Who, method: string, path: string, body?: unknown): Promise<Answer> {
    return this.app.call(method, path, { token: this.tokens[who], body });
  }

  async text(who: Who, path: string, method = 'GET', body?: unknown): Promise<string> {
    const answer = await this.call(who, method, path, body);
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.message}`);
    return JSON.stringify(answer.body);
  }
}

const shop = new Shop();
beforeAll(() => shop.start());
afterAll(() => shop.app.close());

describe('values of variables and arguments marked as secret', () => {
  test.each([
    '/api/requests/request/jobs',
    '/api/requests/batch?id=jobs',
    '/api/requests?includeFullRequestData=true',
    '/api/history/request/jobs/deploy/d1',
    '/api/tasks/scheduled',
    '/api/tasks/scheduled/request/jobs',
  ])('are shown by %s to writers and administrators only', async (path) => {
    const shown = await shop.text('rita', path);
    expect(shown).toContain('jobs');
    expect(shown).not.toContain(secret);
    expect(shown.includes('********')).toBe((await shop.text('ann', path)).includes(secret));
    expect(await shop.text('alma', path)).toBe(await shop.text('ann', path));
  });

  test('are hidden in what is planned', async () => {
    const changed = { ...deploy, id: 'd2', env: { MYSQL_PWD: 'another' }, arguments: ['--token', 'another'] };
    const plan = (who: Who) => shop.text(who, '/api/deploys/plan', 'POST', { deploy: changed });
    expect(await plan('ann')).toContain(secret);
    expect(await plan('rita')).toContain('deploy.env.MYSQL_PWD');
    expect(await plan('rita')).not.toContain(secret);
  });
});

describe('files that the agent wrote for the start of a task', () => {
  const read = (who: Who, name: string) =>
    shop.call(who, 'GET', `/api/sandbox/${shop.taskId}/read?path=${shop.taskId}/${name}&offset=0`);
  const open = (who: Who, verb: string, name: string) => {
    const path = encodeURIComponent(`${sandboxRoot(shop.taskId)}/${shop.taskId}/${name}`);
    return shop.call(who, 'GET', `/api/tasks/${verb}?slaveHostname=host-1&path=${path}`);
  };

  test('are read by writers only', async () => {
    expect((await read('ann', 'deploy.env')).body['data']).toContain(secret);
    expect((await read('alma', 'deploy.env')).body['data']).toContain(secret);
    expect(await read('rita', 'deploy.env')).toMatchObject({ status: 404 });
    expect((await read('rita', 'service.log')).body['data']).toBe('hello');
  });

  test.each(['download', 'open'])('are got by %s by writers only', async (verb) => {
    expect(await open('ann', verb, 'deploy.env')).toMatchObject({ status: 200 });
    expect(await open('rita', verb, 'deploy.env')).toMatchObject({ status: 404 });
    expect(await open('rita', verb, 'service.log')).toMatchObject({ status: 200 });
  });

  test('are listed for writers only', async () => {
    const names = async (who: Who) => {
      const { body } = await shop.call(who, 'GET', `/api/sandbox/${shop.taskId}/browse?path=${shop.taskId}`);
      return (body['files'] as { name: string }[]).map(({ name }) => name);
    };
    expect(await names('ann')).toEqual(['deploy.env', 'service.log']);
    expect(await names('rita')).toEqual(['service.log']);
  });
});

test('auth.hiddenEnvironment: NAMED shows variables whose names do not say that they are secret', async () => {
  const named = new Shop();
  await named.start({ hiddenEnvironment: 'NAMED', secretEnvNames: ['pwd'] });
  try {
    const { body } = await named.call('rita', 'GET', '/api/history/request/jobs/deploy/d1');
    expect((body['deploy'] as { env: object }).env).toEqual({ ...deploy.env, MYSQL_PWD: '********' });
  } finally {
    await named.app.close();
  }
});

test('files stay hidden from unknown callers, where files are an open area', async () => {
  const open = new Shop();
  await open.start({ openAreas: ['FILES'] });
  try {
    const of = (name: string) => {
      const path = encodeURIComponent(`${sandboxRoot(open.taskId)}/${open.taskId}/${name}`);
      return open.app.call('GET', `/api/tasks/download?slaveHostname=host-1&path=${path}`);
    };
    expect(await of('service.log')).toMatchObject({ status: 200 });
    expect(await of('deploy.env')).toMatchObject({ status: 404 });
  } finally {
    await open.app.close();
  }
});
