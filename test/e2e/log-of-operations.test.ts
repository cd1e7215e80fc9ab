import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createDatabase } from '../support/test-database.js';
import { startReceiver } from '../support/http-receiver.js';
import { waitFor } from '../support/wait-for.js';
import type { Api } from './support/api.js';
import { Installation, type Instance } from './support/product.js';

/* What operators are told by the log of what they have asked for: one line for each, by two schedulers of which one leads. */

const settings = { webhooks: { firstRetryMillis: 200, lastRetryMillis: 400 } };
let database: Awaited<ReturnType<typeof createDatabase>>;
let installation: Installation;
let first: Instance;
let second: Instance;
let api: Api;
beforeAll(async () => {
  // The one that stops first does not take it along.
  database = await createDatabase();
  installation = new Installation({ settings, databaseUrl: database.url });
  first = await installation.start(['start', '--keep-tasks']);
  await first.leads();
  second = await installation.start(['scheduler']);
  ({ api } = first);
}, 120_000);
afterAll(async () => {
  await installation.dispose();
  await database.remove();
}, 90_000);

interface Line {
  level: string;
  msg: string;
}
/** Lines of both, as they were logged. */
const lines = (about: RegExp): Line[] =>
  [first, second].flatMap(({ output }) =>
    output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line)
      .map(({ level, msg }) => ({ level, msg: String(msg) }))
      .filter(({ msg }) => about.test(msg)),
  );
const resources = { cpus: 0.05, memoryMb: 16 };

test('a deploy begins and succeeds, another one begins and fails and why, and its task ended: one line each', async () => {
  await api.saveRequest({ id: 'svc', requestType: 'WORKER' });
  await api.deploy({ requestId: 'svc', id: 'v1', command: 'exec sleep 1000', resources });
  await api.deployEnded('svc', 'v1');
  await api.deploy({ requestId: 'svc', id: 'v2', command: 'exit 7', resources });
  await api.deployEnded('svc', 'v2');
  await waitFor('the end to be told', () => lines(/'v2'.* ended as FAILED/).length > 0);

  const texts = (about: RegExp): string[] => lines(about).map(({ level, msg }) => `${level} ${msg}`);
  expect(texts(/^Deploy 'v1'/)).toEqual([
    expect.stringMatching(/^info Deploy 'v1' of request 'svc' has begun/),
    expect.stringMatching(/^info Deploy 'v1' of request 'svc' ended as SUCCEEDED/),
  ]);
  const [begun, failed, ...rest] = texts(/^Deploy 'v2'/);
  expect(begun).toMatch(/^info Deploy 'v2' of request 'svc' has begun/);
  expect(failed).toMatch(/^warn Deploy 'v2' of request 'svc' ended as FAILED.*svc-v2-/);
  expect(rest).toEqual([]);
  const ended = texts(/^Task 'svc-v2-.* ended as/);
  expect(ended).toEqual([expect.stringMatching(/^warn Task 'svc-v2-.*ended as TASK_FAILED: .*7/)]);
}, 120_000);

test('a webhook that takes nothing is told of once, without its secrets, whoever leads; and once when it takes updates again', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  receiver.answer = (_call, response) => void response.destroy();
  await api.post('webhooks', { uri: `${receiver.url}/hook?key=of-the-receiver`, type: 'REQUEST' });
  for (const id of ['one', 'two', 'three']) await api.saveRequest({ id, requestType: 'ON_DEMAND' });
  const tried = (times: number) => waitFor('many attempts', () => receiver.calls.length >= times);
  await tried(5);
  // Under another leader it goes on failing, and that is not told again.
  await first.stop();
  await second.leads(30_000);
  await second.api.saveRequest({ id: 'four', requestType: 'ON_DEMAND' });
  await tried(receiver.calls.length + 5);

  receiver.answer = 200;
  await waitFor('it to take updates again', () => lines(/^The webhook .* accepts updates again/).length > 0);
  expect(lines(/webhook/i)).toEqual([
    {
      level: 'warn',
      msg: expect.stringContaining(`The webhook for REQUEST at ${receiver.url} accepts no updates`) as string,
    },
    { level: 'info', msg: `The webhook for REQUEST at ${receiver.url} accepts updates again` },
  ]);
}, 120_000);
