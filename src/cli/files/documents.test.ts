import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { readDocuments } from './documents.js';

const folder = tempFolder();
afterAll(() => folder.remove());

async function read(content: string | Uint8Array, name = 'a.yml') {
  const file = join(folder.path, name);
  writeFileSync(file, content);
  const { requests, deploys } = await readDocuments([file]);
  return { requests: requests.map(({ value }) => value), deploys: deploys.map(({ value }) => value.deploy) };
}
const deployOf = async (lines: string) => {
  const text = `deploy:\n  requestId: r\n  id: d1\n  command: x\n${lines.replace(/^/gm, '  ')}\n`;
  return (await read(text)).deploys[0];
};
const refusal = (content: string | Uint8Array) =>
  read(content).then(
    () => 'it was taken',
    (cause: Error) => cause.message.replaceAll(`${folder.path}/`, ''),
  );

/** Texts that YAML, or one of its versions, takes for something else. */
const written = `010 0o17 0x1F 1e3 1_000 1.10 1.0 +5 -0 .5 5. .inf -.inf .nan 00 12345678901234567890 1e400
  true True FALSE yes no on off y N 2026-01-05 2026-01-05T12:00:00Z 12:30:45 0b11 = <`.split(/\s+/);

describe('values that look like something else are kept as they are written', () => {
  test.each(['env', 'labels', 'metadata'])('in the map %s', async (map) => {
    const lines = written.map((value, index) => `  V${index}: ${value}`);
    const deploy = (await deployOf([`${map}:`, ...lines].join('\n'))) as unknown as Record<string, object>;
    expect(Object.values(deploy[map]!)).toEqual(written);
  });

  test('in lists, in records in lists, in maps of maps, and as keys', async () => {
    const deploy = await deployOf(
      [
        'arguments:',
        ...written.map((value) => `- ${value}`),
        'taskEnv: { 1: { A: 010, 007: 0x1F } }',
        'clusterLabels: [{ key: 1.10, value: 1e3 }]',
        'labels: { 1.10: 1e3 }',
      ].join('\n'),
    );
    expect(deploy).toMatchObject({
      arguments: written,
      taskEnv: { 1: { A: '010', '007': '0x1F' } },
      clusterLabels: [{ key: '1.10', value: '1e3' }],
      labels: { '1.10': '1e3' },
    });
  });

  test('in attributes of a request, through aliases and merge keys, and in JSON', async () => {
    const yaml =
      'id: r\nrequestType: SERVICE\ninstances: 0x2\nrequiredSlaveAttributes: { zone: 010, <<: { disk: 1.0 } }\n';
    expect((await read(yaml)).requests).toEqual([
      { id: 'r', requestType: 'SERVICE', instances: 2, requiredSlaveAttributes: { zone: '010', disk: '1.0' } },
    ]);
    const deploy = await deployOf('env: &all { A: &a 010, B: *a }\nlabels: { <<: *all, C: no }');
    expect(deploy).toMatchObject({ env: { A: '010', B: '010' }, labels: { A: '010', B: '010', C: 'no' } });
    const json = '{"deploy":{"requestId":"r","id":"d","command":"x","env":{"A":1.10,"B":1e3,"C":true}}}';
    expect((await read(json)).deploys[0]).toMatchObject({ env: { A: '1.10', B: '1e3', C: 'true' } });
  });

  test('in a file of YAML 1.1, which has more of them', async () => {
    const lines = written.map((value, index) => `    V${index}: ${value}`).join('\n');
    const text = `%YAML 1.1\n---\ndeploy:\n  requestId: r\n  id: d\n  command: 2026-01-05\n  env:\n${lines}\n  labels: { 2026-01-05: 1_0 }\n`;
    const [deploy] = (await read(text)).deploys;
    expect(Object.values(deploy!.env!)).toEqual(written);
    expect(deploy).toMatchObject({ command: '2026-01-05', labels: { '2026-01-05': '1_0' } });
  });

  test('whatever plain word it is', () =>
    fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[0-9+.-][0-9a-fox_.+:e-]{0,8}$/), async (value) => {
        fc.pre(!/^-+$|^-$|:$|^\.{3}/.test(value) && !value.startsWith('---'));
        expect((await deployOf(`env:\n  A: ${value}`))?.env).toEqual({ A: value });
      }),
      { numRuns: 60 },
    ));
});

describe('is refused with file and line', () => {
  const head = 'deploy:\n  requestId: r\n  id: d\n  command: x\n';
  test.each([
    [
      'an entry without a value',
      `${head}  env:\n    A:\n`,
      'a.yml:6: deploy.env.A has no value: write "" for an empty text',
    ],
    ['null', `${head}  env: { A: ~ }\n`, 'a.yml:5: deploy.env.A has no value: write "" for an empty text'],
    ['a key alone', `${head}  env: { A }\n`, 'a.yml:5: deploy.env.A has no value: write "" for an empty text'],
    ['a key alone in a line', `${head}  env:\n    ? A\n`, 'a.yml:6: deploy.env.A has no value'],
    ['a key that is a list', `${head}  env:\n    ? [a, b]\n    : x\n`, 'a.yml:6: deploy.env has a key that is no text'],
    [
      'a number beside the same text as keys',
      `${head}  env:\n    1: a\n    "1": b\n`,
      'a.yml:7: deploy.env.1 is given twice',
    ],
    [
      'a map in order',
      `%YAML 1.1\n---\n${head}  env: !!omap [a: b]\n`,
      'a.yml:7: deploy.env must be a map or a list, without the tag !!omap',
    ],
    [
      'a set',
      `%YAML 1.1\n---\n${head}  env: !!set { a, b }\n`,
      'a.yml:7: deploy.env must be a map or a list, without the tag !!set',
    ],
    ['bytes', `%YAML 1.1\n---\n${head}  env: { A: !!binary aGVsbG8= }\n`, 'a.yml:7: deploy.env.A must be a text'],
    ['nothing in a list', `${head}  arguments:\n  - a\n  -\n`, 'a.yml:7: deploy.arguments.1 has no value'],
    [
      'an infinite number',
      `${head}  resources:\n    cpus: .inf\n`,
      'a.yml:6: deploy.resources.cpus must be a finite number',
    ],
    [
      'no number',
      `${head}  loadBalancerOptions:\n    a: .nan\n`,
      'a.yml:6: deploy.loadBalancerOptions.a must be a finite',
    ],
    [
      'an asterisk without quotes',
      'id: r\nrequestType: SCHEDULED\nschedule: */5 * * * *\n',
      'must be quoted: schedule: "*/5 * * * *"',
    ],
    [
      'a name that other schedulers have for a member of a request',
      'id: r\nrequestType: SERVICE\nreplicas: 3\n',
      "a.yml:3: there is no field 'replicas' (here it is instances, of the request)",
    ],
    [
      'one for a member of a deploy',
      `${head}  args: [a]\n`,
      "a.yml:5: there is no field 'args' of deploy (here it is arguments, of the deploy)",
    ],
    [
      'a member of a deploy in a request',
      'id: r\nrequestType: SERVICE\ncommand: sleep 9\n',
      "a.yml:3: there is no field 'command' (it belongs to the deploy)",
    ],
    [
      'a member of a request in a deploy',
      `${head}  instances: 3\n`,
      "a.yml:5: there is no field 'instances' of deploy (it belongs to the request)",
    ],
    [
      'a deploy without the member around it',
      'requestId: r\ncommand: sleep 9\n',
      'a.yml:1: the fields of a deploy stand below deploy: (deploy: { requestId: ..., command: ... })',
    ],
    [
      'a name like none of a few',
      `${head}  resources: { limits: { cpu: 1 } }\n`,
      "a.yml:5: there is no field 'limits' of deploy.resources (its fields are cpus, memoryMb, numPorts, diskMb, extended)",
    ],
    [
      'a type in small letters',
      'id: r\nrequestType: service\n',
      'must be one of SERVICE, WORKER, SCHEDULED, ON_DEMAND, RUN_ONCE, not "service": did you mean SERVICE?',
    ],
    [
      'a text with a unit',
      `${head}  resources: { cpus: 500m }\n`,
      'a.yml:5: deploy.resources.cpus must be a number, not "500m": cores, such as 0.5',
    ],
    [
      'a list of a command',
      'deploy:\n  requestId: r\n  command: [sleep, 1]\n',
      'a.yml:3: deploy.command must be a text, not a list: its arguments stand in deploy.arguments',
    ],
    [
      'a list of variables',
      `${head}  env:\n    - A=1\n`,
      'a.yml:5: deploy.env must be a map of fields, not a list: a line for each, such as NAME: value',
    ],
    [
      'a text in place of a number',
      'id: r\nrequestType: SERVICE\ninstances: three\n',
      'a.yml:3: instances must be a whole number, not "three"',
    ],
    [
      'a number that is too small',
      'id: r\nrequestType: SERVICE\ninstances: -1\n',
      'a.yml:3: instances must be at least 0',
    ],
    [
      'an id with a space',
      'id: my job\nrequestType: SERVICE\n',
      `a.yml:1: id may have only letters, digits, '_' and '-', not "my job"`,
    ],
    [
      'a list of documents',
      '[{"id": "r", "requestType": "SERVICE"}]',
      'a.yml:1: the document must be a map of fields, not a list: several documents are separated by lines of ---',
    ],
    [
      'a manifest of Kubernetes',
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\n',
      'a.yml:1: this looks like a manifest of Kubernetes (Deployment); Muster takes requests',
    ],
    [
      'a CronJob of Kubernetes',
      'apiVersion: batch/v1\nkind: CronJob\nmetadata: { name: web }\n',
      'a.yml:1: this looks like a CronJob of Kubernetes; make a request and a deploy of it with: muster import-from <file>',
    ],
    [
      'a list of CronJobs',
      'apiVersion: v1\nkind: List\nitems: [{ kind: CronJob }]\n',
      'a.yml:1: this looks like a CronJob of Kubernetes; make a request',
    ],
    [
      'jobs of Chronos',
      '[{"name": "load", "schedule": "R/2014-09-25T17:22:00Z/PT2H", "command": "load.sh"}]',
      'a.yml:1: this looks like a job of Chronos; make a request and a deploy of it with: muster import-from <file>',
    ],
    [
      'a Nomad job',
      '# web\njob "web" {\n  datacenters = ["dc1"]\n  group "a" { count = 3 }\n}\n',
      'a.yml:2: this looks like a Nomad job; Muster takes',
    ],
    [
      'a Nomad job that is no YAML either',
      'job "web" {\n  meta { a: b: c }\n\t}\n',
      'a.yml:1: this looks like a Nomad job; Muster takes',
    ],
    ['a Nomad job in JSON', '{"Job": {"ID": "web"}}', 'a.yml:1: this looks like a Nomad job; Muster takes'],
    ['a Compose file', 'services:\n  web: { image: nginx }\n', 'a.yml:1: this looks like a Compose file; Muster takes'],
    ['a crontab', '# backups\n0 3 * * * /usr/bin/backup\n', 'a.yml:2: this looks like a crontab; Muster takes'],
    ['a systemd unit', '[Unit]\nDescription=web\n', 'a.yml:1: this looks like a systemd unit; Muster takes'],
    ['a tag that nobody knows', `${head}  env: { A: !secret x }\n`, 'a.yml:5: Unresolved tag'],
    ['bytes that are no UTF-8', Buffer.from(`${head}  env: { A: caf\xe9 }\n`, 'latin1'), 'a.yml must be text in UTF-8'],
  ])('%s', async (_name, content, message) => expect(await refusal(content)).toContain(message));

  test('a file that is not there', async () => {
    await expect(readDocuments([join(folder.path, 'none.yaml')])).rejects.toThrow(/none.yaml: there is no such file$/);
  });

  test.each([
    'id: r\nrequestType: SERVICE\n---\n',
    '---\nid: r\nrequestType: SERVICE\n---\n# nothing\n',
    '\ufeffid: r\nrequestType: SERVICE\n---',
  ])('but an empty last document is none: %j', async (text) =>
    expect((await read(text)).requests).toEqual([{ id: 'r', requestType: 'SERVICE' }]),
  );
});
