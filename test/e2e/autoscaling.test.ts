import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Autoscale } from '../../src/core/model/autoscale.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { RequestHistory } from '../../src/core/model/request.js';
import type { RequestExplanationDto } from '../../src/scheduler/explain/dto/explanation.dto.js';
import { Prometheus } from '../support/prometheus.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import type { Api } from './support/api.js';
import { muster } from './support/muster-command.js';
import { Installation, type Instance } from './support/product.js';

/* Autoscaling on the built product: by a real Prometheus, by a number of a real server, and by the CPU that real tasks use. */

/** Length of a queue, as its service tells it: as a number, and as a metric. */
let queue = 0;
let queueServer: Server;
let queueAddress: string;
let installation: Installation;
let instance: Instance;
let api: Api;

const settings = {
  prometheus: { uri: 'http://127.0.0.1:9' },
  gates: { requestTimeoutMillis: 1_000, allowedTargets: ['127.0.0.1'] },
  checkAutoscaleEverySeconds: 1,
  checkUsageEveryMillis: 1_000,
};

beforeAll(async () => {
  queueServer = createServer((request, response) =>
    response.end(request.url === '/metrics' ? `queue_length ${queue}\n` : JSON.stringify({ waiting: queue })),
  );
  await new Promise<void>((resolve) => queueServer.listen(0, '127.0.0.1', resolve));
  queueAddress = `127.0.0.1:${(queueServer.address() as AddressInfo).port}`;
  installation = new Installation({ database: createDatabase, settings });
  instance = await installation.start(['start']);
  ({ api } = instance);
}, 120_000);
afterAll(async () => {
  await installation.dispose();
  queueServer.close();
}, 90_000);

const worker = (requestId: string, id: string, changes: Partial<Deploy> = {}): Deploy => ({
  requestId,
  id,
  command: 'sleep 100000',
  shell: true,
  resources: { cpus: 0.1, memoryMb: 32 },
  ...changes,
});

async function serving(id: string, autoscale: Autoscale, deploy: Partial<Deploy> = {}): Promise<void> {
  await api.saveRequest({ id, requestType: 'WORKER', autoscale });
  await api.deploy(worker(id, 'v1', deploy));
  expect((await api.deployEnded(id, 'v1')).deployResult?.deployState).toBe('SUCCEEDED');
}
const told = async (id: string) => (await api.get<RequestExplanationDto>(`requests/request/${id}/explain`)).autoscale!;
const becomes = (id: string, outcome: string) =>
  waitFor(`autoscaling of ${id} to be ${outcome}`, async () => {
    const found = await told(id);
    return found.outcome === outcome ? found : undefined;
  });
const scales = async (id: string) =>
  (await api.get<RequestHistory[]>(`history/request/${id}/requests?count=50`))
    .filter(({ eventType }) => eventType === 'SCALED')
    .map(({ message }) => message)
    .toReversed();
const command = (...args: string[]) => muster(args, { env: { MUSTER_URL: api.url } });

describe.runIf(Prometheus.isInstalled())('with a real Prometheus', () => {
  let prometheus: Prometheus;
  beforeAll(async () => {
    prometheus = await Prometheus.start();
    prometheus.scrape([queueAddress]);
  }, 60_000);
  afterAll(() => prometheus.close());

  test('instances follow a query, through a Prometheus that hangs and a leader that is killed', async () => {
    queue = 30;
    const autoscale: Autoscale = {
      min: 1,
      max: 4,
      metric: 'PROMETHEUS',
      uri: prometheus.url,
      query: 'sum(queue_length)',
      target: 10,
      scaleDownDelayMillis: 3_000,
    };
    await serving('orders', autoscale);
    await api.running('orders', 3);
    expect((await becomes('orders', 'STEADY')).message).toBe(
      'Autoscaling (1 to 4) keeps 3 instances: PROMETHEUS 30, target 10 per instance',
    );
    expect(await scales('orders')).toEqual(['autoscale: PROMETHEUS 30, target 10 per instance -- Scaled from 1 to 3']);

    prometheus.freeze(true);
    expect((await becomes('orders', 'INCONCLUSIVE')).message).toContain('no answer within 1000 ms');
    queue = 10;
    await instance.kill9();
    instance = await installation.start(['start']);
    ({ api } = instance);
    expect((await command('explain', 'orders')).out).toContain('keeps 3 instances: there is no value of the metric');
    expect(await api.running('orders', 3)).toHaveLength(3);
    prometheus.freeze(false);
    await api.running('orders', 1);
    expect((await scales('orders')).slice(1)).toEqual([
      'autoscale: PROMETHEUS 10, target 10 per instance -- Scaled from 3 to 1',
    ]);
  }, 180_000);
});

test('instances follow a number of a service; a file that is applied again, and scales of people', async () => {
  queue = 0;
  const file = (instances: string) =>
    `id: mails\nrequestType: WORKER\n${instances}autoscale: { min: 1, max: 3, metric: HTTP, uri: "http://${queueAddress}/", valuePath: waiting, target: 10 }\n`;
  const apply = (text: string) => muster(['apply', '-f', '-'], { env: { MUSTER_URL: api.url }, stdin: text });
  expect((await apply(file(''))).code).toBe(0);
  await api.deploy(worker('mails', 'v1'));
  await api.deployEnded('mails', 'v1');
  queue = 25;
  await api.running('mails', 3);
  expect((await apply(file('instances: 1\n'))).out).toContain('unchanged');
  expect((await api.request('mails')).request.instances).toBe(3);

  const refused = await command('scale', 'mails', '9');
  expect([refused.code, refused.err]).toEqual([7, expect.stringContaining('must be within autoscale, 1 to 3, not 9')]);
  expect((await command('plan', 'mails', '--instances', '2')).out).toContain('Autoscaling goes on from there');
  expect((await command('scale', 'mails', '5', '--for', '1h')).code).toBe(0);
  await api.running('mails', 5);
  expect((await becomes('mails', 'HELD')).message).toContain('a scale for a while');
  expect((await apply(file('').replace('HTTP', 'CPU'))).err).toContain('autoscale.uri may not be given for metric CPU');
}, 180_000);

test('the requests of docs/autoscaling.md are applied, and explain says why their numbers stay', async () => {
  const page = readFileSync(new URL('../../docs/autoscaling.md', import.meta.url), 'utf8');
  const files = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!);
  for (const stdin of files)
    expect(await muster(['apply', '-f', '-'], { env: { MUSTER_URL: api.url }, stdin })).toMatchObject({ code: 0 });
  expect((await api.request('shop')).request.instances).toBe(2);
  await becomes('shop', 'HELD');
  expect((await command('explain', 'shop')).out).toContain('keeps 2 instances for now: there is no deploy');
});

test('instances follow the CPU that tasks use', async () => {
  const burn = `setInterval(() => { for (const end = Date.now() + 40; Date.now() < end;); }, 200)`;
  const autoscale: Autoscale = { min: 1, max: 3, metric: 'CPU', target: 50, scaleDownDelayMillis: 3_000 };
  await serving('busy', autoscale, { command: 'node', arguments: ['-e', burn], shell: false });
  await api.running('busy', 3);
  const [first] = await scales('busy');
  expect(first).toMatch(/^autoscale: CPU [\d.]+ %, target 50 % -- Scaled from 1 to [23]$/);
  await becomes('busy', 'AT_MAX');
  await api.deploy(worker('busy', 'v2'));
  await api.deployEnded('busy', 'v2');
  await api.running('busy', 1, 60_000);
  expect((await scales('busy')).at(-1)).toMatch(/^autoscale: CPU [\d.]+ %, target 50 % -- Scaled from \d to 1$/);
}, 180_000);
