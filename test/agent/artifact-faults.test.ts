import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { agentProgram } from '../support/agent-programs.js';
import type { ExternalArtifact } from '../../src/core/model/deploy.js';
import { AgentCluster, occupyPort } from '../support/agent-cluster.js';
import { tarOf } from '../support/archives.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

/* What goes wrong while files are fetched, over TLS, on a full disk, and when the agent is killed meanwhile. */

const keys = tempFolder();
const disk = tempFolder();
let server: Server;
let url: string;
let cluster: AgentCluster;
const seen: IncomingMessage[] = [];

const md5 = (text: string | Buffer) => createHash('md5').update(text).digest('hex');
const files: Record<string, () => Buffer> = {
  '/small': () => Buffer.from('small'),
  '/large': () => Buffer.alloc(30 << 20, 1),
  '/large.tar.gz': () => gzipSync(tarOf([{ name: 'large', content: ' '.repeat(30 << 20) }])),
  '/many.tar.gz': () => gzipSync(tarOf(Array.from({ length: 100_000 }, (_, index) => ({ name: `many/f${index}` })))),
};

beforeAll(async () => {
  const [key, cert] = ['key', 'cert'].map((name) => join(keys.path, name));
  const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=127.0.0.1'];
  execFileSync('openssl', [...words, '-keyout', key!, '-out', cert!], { stdio: 'ignore' });
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    seen.push(request);
    const made = files[request.url!.split('?')[0]!];
    if (made) response.end(made());
    else response.writeHead(404).end();
  };
  server = createServer({ key: readFileSync(key!), cert: readFileSync(cert!) }, answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  for (const folder of [keys, disk]) folder.remove();
});
afterEach(() => cluster.close());

const start = async (settings: object = {}, options: Parameters<typeof AgentCluster.start>[0] = {}) => {
  cluster = await AgentCluster.start({
    settings: { maxTaskMessageLength: 400, verifyArtifactTls: false, ...settings },
    ...options,
  });
};
const launch = (...externalArtifacts: ExternalArtifact[]) =>
  cluster.launch('', {
    executorData: { cmd: 'true', externalArtifacts },
    command: { shell: true, value: 'true', arguments: [] },
  });
const external = (path: string, isKept: boolean): ExternalArtifact => ({
  filename: path.slice(1),
  url: url + path,
  md5sum: isKept ? md5(files[path]!()) : undefined,
});

describe('a server whose certificate no authority vouches for', () => {
  test.each([true, false])('is not believed (kept: %s)', async (isKept) => {
    await start({ verifyArtifactTls: true });
    expect(await cluster.untilState(await launch(external('/small', isKept)), 'TASK_FAILED')).toContain('self-signed');
  });

  test.each([true, false])('is, where the settings say so (kept: %s)', async (isKept) => {
    await start();
    await cluster.untilState(await launch(external('/small', isKept)), 'TASK_FINISHED');
  });
});

test('credentials of a URL are sent and are in no message', async () => {
  await start();
  seen.length = 0;
  const secret = url.replace('//', '//ada:s3cr3t%21@');
  await cluster.untilState(await launch({ filename: 'a', url: `${secret}/small?token=s3cr3t` }), 'TASK_FINISHED');
  expect(seen[0]?.headers.authorization).toBe(`Basic ${Buffer.from('ada:s3cr3t!').toString('base64')}`);
  const message = await cluster.untilState(
    await launch({ filename: 'a', url: `${secret}/none?token=s3cr3t` }),
    'TASK_FAILED',
  );
  expect(message).toMatch(/^127\.0\.0\.1:\d+\/none: HTTP 404$/);
});

test('ports are tried before a task starts, unless the settings say not to', async () => {
  const { port, free } = await occupyPort();
  for (const [verifyAssignedPorts, outcome] of [
    [true, 'PORT_IN_USE'],
    [false, 'ACCEPTED'],
  ] as const) {
    await start({ verifyAssignedPorts });
    expect(await cluster.driver.launch([cluster.spec({ ports: [port] })], 1)).toMatchObject([{ outcome }]);
    if (verifyAssignedPorts) await cluster.close();
  }
  await free();
});

describe('a full disk', () => {
  let canMount = false;
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m,mode=755', 'muster-test', disk.path], { stdio: 'ignore' });
    canMount = true;
  } catch {
    console.log('Nothing can be mounted here: a full disk is not tested');
  }
  afterAll(() => {
    if (canMount) execFileSync('umount', ['-l', disk.path]);
  });

  test.runIf(canMount).each([
    { what: 'a file', path: '/large', isKept: false },
    { what: 'a file for the cache', path: '/large', isKept: true },
    { what: 'what an archive holds', path: '/large.tar.gz', isKept: false },
    { what: 'what an archive out of the cache holds', path: '/large.tar.gz', isKept: true },
  ])('that has no room for $what loses the task, which is not to blame', async ({ path, isKept }) => {
    await start({ reservedDiskMb: 6 }, { directory: join(disk.path, 'agent') });
    const spec = await launch(external(path, isKept));
    expect(await cluster.untilState(spec, 'TASK_LOST')).toContain('The disk of this machine is full');
  });

  test.runIf(canMount)('has what is kept give way', async () => {
    await start({ reservedDiskMb: 6 }, { directory: join(disk.path, 'agent') });
    await cluster.untilState(await launch(external('/small', true)), 'TASK_FINISHED');
    const kept = () => readdirSync(join(cluster.root, 'artifacts', 'kept')).length;
    expect(kept()).toBe(1);
    const filling = cluster.launch('head -c 28000000 /dev/zero >large; sleep 600');
    await waitFor('room', () => kept() === 0);
    await cluster.driver.kill((await filling).taskId, 's1', 0, 1);
    await cluster.untilState(await filling, 'TASK_KILLED');
  });
});

describe('an agent that is killed', () => {
  test('while an archive is unpacked starts nothing of it, and leaves no process', async () => {
    await start({}, { program: agentProgram });
    const spec = await launch({ ...external('/many.tar.gz', true), targetFolderRelativeToTask: 'app' });
    const app = cluster.sandbox(spec, spec.taskId.replaceAll(':', '_'), 'app');
    // In a folder beside its place, until it is whole.
    const inside = () => readdirSync(app).flatMap((name) => readdirSync(join(app, name)));
    await waitFor('the first file', () => inside().length > 0, { timeoutMillis: 25_000 });
    await cluster.killAgent();
    await cluster.startAgent();
    expect(await cluster.untilState(spec, 'TASK_LOST')).toContain('before the task was started');
    expect(cluster.processes()).toEqual([]);
    expect(readdirSync(join(cluster.root, 'artifacts', 'kept')).length).toBe(1);
    expect(cluster.seen.statesOf(spec.taskId)).toEqual(['TASK_STARTING', 'TASK_LOST']);
  });
});
