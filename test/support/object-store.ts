import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as forward,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { tempFolder } from './temp-folder.js';
import { waitFor } from './wait-for.js';

export interface StoredFile {
  body?: string | Buffer;
  /** Time at which it was written, in epoch milliseconds; stores keep whole seconds. */
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
  /** Answers the code with which the store refuses a call, by 400; undefined: it takes it. */
  refuse: (call: string, headers: IncomingHttpHeaders) => string | undefined;
  /** Connections of longer bodies break then. */
  breakAfterBytes: number | undefined;
  /** By key. `withBodies` false: without reading them. */
  list(bucket: string, withBodies?: boolean): { key: string; size: number; body: Buffer }[];
  remove(bucket: string, key: string): void;
  /** Uploads in parts that were begun and neither completed nor given up. */
  partsLeft(bucket: string): number;
  /** Called before the store sees a call; the store waits for it. */
  before: (call: string, headers: IncomingHttpHeaders) => Promise<void> | void;
  /** Called when the store has done what the call asks for; the caller waits for it. */
  after: (call: string) => Promise<void> | void;
  close(): Promise<void>;
}

/** As .ci/run installs it. */
const program = ['versitygw', join(process.env['GOPATH'] ?? join(homedir(), 'go'), 'bin', 'versitygw')].find(
  (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0,
);

/** Reason why tests that need an object store are left out; undefined: they are not. */
export const withoutObjectStore =
  program === undefined ? 'no object store: versitygw is not installed, .ci/run says how' : undefined;
if (withoutObjectStore) console.log(`Tests that need an object store are left out: ${withoutObjectStore}`);

const [accessKey, secretKey] = ['tests', 'secret-of-tests'];
/** Directory in which the store has what is not an object yet. */
const unfinished = '.sgwtmp';

/**
 * A store that speaks the S3 protocol (versitygw, on a folder), in a process of its own. Behind a proxy that sees all calls and
 * can have them fail; signatures are checked by the store itself.
 */
export const startObjectStore = (...buckets: string[]): Promise<TestObjectStore> =>
  startObjectStoreOn('127.0.0.1', ...buckets);

/** `host`: the address of this machine that it listens on. */
export async function startObjectStoreOn(host: string, ...buckets: string[]): Promise<TestObjectStore> {
  if (program === undefined) throw new Error(withoutObjectStore);
  const { path: folder, remove } = tempFolder();
  const [objects, facts, socketPath] = [join(folder, 'objects'), join(folder, 'facts'), join(folder, 'socket')];
  for (const path of [objects, facts, ...buckets.map((bucket) => join(objects, bucket))]) mkdirSync(path);
  const words = ['--port', socketPath, '--region', 'us-east-1', '--quiet', 'posix', '--sidecar', facts, objects];
  const env = { PATH: process.env['PATH'], ROOT_ACCESS_KEY: accessKey, ROOT_SECRET_KEY: secretKey };
  const child = spawn(program, words, { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let complaints = '';
  child.stderr.on('data', (text) => (complaints = (complaints + String(text)).slice(-10_000)));
  const agent = new Agent({ keepAlive: true });
  await waitFor('the object store', () => {
    if (child.exitCode !== null) throw new Error(`The object store ended: ${complaints}`);
    return existsSync(socketPath);
  });
  let inFlight = 0;
  const server = createServer((request, response) => {
    const call = `${request.method} ${request.url}`;
    store.calls.push(call);
    inFlight += 1;
    store.mostAtOnce = Math.max(store.mostAtOnce, inFlight);
    response.on('close', () => (inFlight -= 1));
    void Promise.resolve(store.before(call, request.headers)).then(() => pass(request, response));
  });
  const pass = (request: IncomingMessage, response: ServerResponse) => {
    if (store.failures > 0) {
      store.failures -= 1;
      request.resume();
      response.writeHead(503, { 'content-type': 'application/xml' });
      response.end('<Error><Code>SlowDown</Code><Message>Later</Message></Error>');
      return;
    }
    const { method, url: path, headers } = request;
    const refusal = store.refuse(`${method} ${path}`, headers);
    if (refusal !== undefined) {
      request.resume();
      response.writeHead(400, { 'content-type': 'application/xml' });
      response.end(method === 'HEAD' ? '' : `<Error><Code>${refusal}</Code><Message>No</Message></Error>`);
      return;
    }
    const further = forward({ agent, socketPath, method, path, headers }, (answer) => {
      void Promise.resolve(store.after(`${method} ${path}`)).then(() => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      });
    });
    further.on('error', () => response.destroy());
    // Half of a body is half of one to the store, too.
    request.on('close', () => !request.complete && further.destroy());
    request.pipe(further);
    if (Number(headers['content-length']) <= (store.breakAfterBytes ?? Number.POSITIVE_INFINITY)) return;
    let seen = 0;
    request.on('data', (chunk: Buffer) => {
      seen += chunk.length;
      if (seen > store.breakAfterBytes!) request.destroy();
    });
  };
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const store: TestObjectStore = {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    keys: { objstoreAccessKey: accessKey, objstoreSecretKey: secretKey },
    put: (bucket, key, file = {}) => {
      writeObject(join(objects, bucket, key), file);
      writeFacts(join(facts, bucket, key, 'meta'), file);
    },
    failures: 0,
    refuse: () => undefined,
    breakAfterBytes: undefined,
    list: (bucket, withBodies = true) => objectsIn(join(objects, bucket), withBodies),
    remove: (bucket, key) => rmSync(join(objects, bucket, key), { force: true }),
    partsLeft: (bucket) => filesIn(join(objects, bucket, unfinished, 'multipart')).length,
    calls: [],
    mostAtOnce: 0,
    before: () => undefined,
    after: () => undefined,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      agent.destroy();
      const ended = child.exitCode === null && once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      remove();
    },
  };
  return store;
}

function filesIn(root: string): string[] {
  if (!existsSync(root)) return [];
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' });
  return paths.filter((path) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile());
}

function objectsIn(root: string, withBodies: boolean): { key: string; size: number; body: Buffer }[] {
  return filesIn(root)
    .filter((key) => !key.startsWith(unfinished))
    .map((key) => ({
      key,
      size: statSync(join(root, key)).size,
      body: withBodies ? readFileSync(join(root, key)) : Buffer.alloc(0),
    }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

/** As the store itself would, but with a time of one's own and much faster. */
function writeObject(path: string, { body = 'x', at }: StoredFile): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, body);
  if (at !== undefined) utimesSync(path, at / 1_000, at / 1_000);
}

function writeFacts(folder: string, { metadata, contentEncoding }: StoredFile): void {
  if (metadata === undefined && contentEncoding === undefined) return;
  mkdirSync(folder, { recursive: true });
  if (metadata) writeFileSync(join(folder, 'metadata'), JSON.stringify(metadata));
  if (contentEncoding !== undefined) writeFileSync(join(folder, 'content-encoding'), contentEncoding);
}
