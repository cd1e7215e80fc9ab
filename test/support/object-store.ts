import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { Agent, createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { isSigned } from './aws-signature.js';
import { spawnNode } from './spawn.js';
import { tempFolder } from './temp-folder.js';

export interface StoredFile {
  body?: string | Buffer;
  /** When it was written, in epoch milliseconds; stores keep whole seconds. */
  at?: number;
  metadata?: Record<string, string>;
  contentEncoding?: string;
}

export interface TestObjectStore {
  url: string;
  /** The keys that the store knows. */
  keys: { objstoreAccessKey: string; objstoreSecretKey: string };
  put(bucket: string, key: string, file?: StoredFile): void;
  /** "GET /bucket?list-type=2&..." of every call so far. */
  calls: string[];
  /** Most calls that were under way at once. */
  mostAtOnce: number;
  /** So many further calls are answered 503. */
  failures: number;
  /** Connections of longer bodies break then. */
  breakAfterBytes: number | undefined;
  /** By key. */
  list(bucket: string): Promise<{ key: string; size: number }[]>;
  /** Called before the store sees a call; the store waits for it. */
  before: () => Promise<void> | void;
  close(): Promise<void>;
}

const program = createRequire(import.meta.url).resolve('s3rver/bin/s3rver.js');
const secretKey = 'S3RVER';

/**
 * A store that speaks the S3 protocol, in a process of its own, with its objects in a folder. It takes every signature for
 * good, so they are checked on the way to it.
 */
export async function startObjectStore(...buckets: string[]): Promise<TestObjectStore> {
  const { path: directory, remove } = tempFolder();
  for (const bucket of buckets) mkdirSync(join(directory, bucket));
  // Its continuation tokens are encrypted by what newer versions of OpenSSL only know on request.
  const s3 = spawnNode(['--openssl-legacy-provider', program, '-d', directory, '-p', '0', '--no-vhost-buckets', '-s']);
  const place = await s3.line('S3rver listening on ');
  const agent = new Agent({ keepAlive: true });
  let inFlight = 0;
  const server = createServer((request, response) => {
    store.calls.push(`${request.method} ${request.url}`);
    inFlight += 1;
    store.mostAtOnce = Math.max(store.mostAtOnce, inFlight);
    response.on('close', () => (inFlight -= 1));
    void Promise.resolve(store.before()).then(() => pass(request, response));
  });
  const pass = (request: IncomingMessage, response: ServerResponse) => {
    if (!isSigned(request, secretKey)) {
      response.writeHead(403, { 'content-type': 'application/xml' });
      response.end('<Error><Code>SignatureDoesNotMatch</Code><Message>It does not match</Message></Error>');
      return;
    }
    if (store.failures > 0) {
      store.failures -= 1;
      request.resume();
      response.writeHead(503, { 'content-type': 'application/xml' });
      response.end('<Error><Code>SlowDown</Code><Message>Later</Message></Error>');
      return;
    }
    if (Number(request.headers['content-length']) > (store.breakAfterBytes ?? Number.POSITIVE_INFINITY)) {
      let seen = 0;
      request.on('data', (chunk: Buffer) => {
        seen += chunk.length;
        if (seen > store.breakAfterBytes!) request.destroy();
      });
      return;
    }
    const [host, port] = place.split(':');
    const { method, url: path, headers } = request;
    const further = forward({ agent, host, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    further.on('error', () => response.destroy());
    request.pipe(further);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const store: TestObjectStore = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys: { objstoreAccessKey: 'S3RVER', objstoreSecretKey: secretKey },
    put: (bucket, key, file = {}) => writeObject(join(directory, bucket, key), file),
    failures: 0,
    breakAfterBytes: undefined,
    list: (bucket) => Promise.resolve(listObjects(join(directory, bucket))),
    calls: [],
    mostAtOnce: 0,
    before: () => undefined,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      agent.destroy();
      await s3.kill();
      remove();
    },
  };
  return store;
}

function listObjects(root: string): { key: string; size: number }[] {
  const ending = '._S3rver_object';
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending))
    .map((path) => ({ key: path.slice(0, -ending.length), size: statSync(join(root, path)).size }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

/** As the store itself would, but with a time of one's own and much faster. */
function writeObject(path: string, { body = 'x', at, metadata = {}, contentEncoding }: StoredFile): void {
  mkdirSync(dirname(path), { recursive: true });
  const file = `${path}._S3rver_object`;
  writeFileSync(file, body);
  writeFileSync(`${file}.md5`, '0'.repeat(32));
  const noted = Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-amz-meta-${name}`, value]));
  const headers = contentEncoding === undefined ? noted : { ...noted, 'content-encoding': contentEncoding };
  if (Object.keys(headers).length > 0) writeFileSync(`${path}._S3rver_metadata.json`, JSON.stringify(headers));
  if (at !== undefined) utimesSync(file, at / 1_000, at / 1_000);
}
