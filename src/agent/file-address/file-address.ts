import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { readChunk } from '../../core/files/file-chunk.js';
import { SchedulerError } from '../../platform/errors.js';
import { sendFile } from '../../platform/http/send-file.js';
import type { TaskFilesSettings } from '../../platform/settings/task-files-settings.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentDirectory } from '../state/agent-directory.js';
import { errorCode, messageOf } from '../../platform/files.js';
import { endTasksOn } from './port-holders.js';
import type { NumberRange } from '../users/user-numbers.js';
import { SandboxFiles } from '../sandbox/sandbox-files.js';
import { startFilesOf } from '../sandbox/sandbox-layout.js';
import { TaskDirectory, taskIdOf } from '../state/task-directory.js';

/*
 * The files of tasks for tools that read them from the machine itself, by the absolute paths that the API tells. A port of its
 * own: what knows its token can read, and has no way to the operations that the scheduler uses.
 */

/** A caller that neither sends nor reads for so long is cut off. */
const idleMillis = 60_000;

/** Each holds a file open. */
const mostAtOnce = 64;
const mostConnections = 512;
const tryAgainMillis = 10_000;

/**
 * Opens the address. A port that another program has is tried again from time to time: the tasks of the machine matter more
 * than who reads their files. A task that has it, and would be sent the token, is ended.
 */
export async function openFileAddress(
  { port, host, readToken }: TaskFilesSettings,
  { directory, log, stopping }: Pick<AgentContext, 'directory' | 'log' | 'stopping'>,
  taskUsers: NumberRange,
): Promise<Server> {
  const address = new FileAddress(directory, readToken);
  const server = createServer({ requestTimeout: idleMillis }, (request, response) => {
    address.answer(request, response).catch((cause: unknown) => {
      log.error(`Files: ${request.method} failed`, cause);
      if (response.headersSent) response.destroy();
      else say(response, 500, 'Internal error');
    });
  });
  server.maxConnections = mostConnections;
  server.setTimeout(idleMillis);
  const listen = async (): Promise<boolean> => {
    try {
      await once(server.listen({ host, port }), 'listening');
      log.info(`Files of tasks are read at ${host}:${port}`);
      return true;
    } catch (cause) {
      log.warn(`Files of tasks cannot be read at ${host}:${port} yet: ${messageOf(cause)}`);
      if (errorCode(cause) === 'EADDRINUSE')
        for (const line of await endTasksOn(port, taskUsers, directory.sandboxes)) log.warn(line);
      return false;
    }
  };
  const untilOpen = async (): Promise<void> => {
    do await delay(tryAgainMillis, undefined, { signal: stopping, ref: false }).catch(() => undefined);
    while (!stopping.aborted && !(await listen()));
  };
  if (!(await listen())) void untilOpen();
  return server;
}

/** The older tools send every parameter as text, and -1 for none. */
const position = z
  .string()
  .regex(/^(-1|\d{1,15})$/, 'must be a whole number from -1 on')
  .transform(Number)
  .optional();
const Query = z.object({ path: z.string().min(1, 'must be given').max(8_192), offset: position, length: position });
type Query = z.infer<typeof Query>;

/** One that is found: the sandbox of a task, and the path in it. */
interface SandboxPath {
  path: string;
  files: SandboxFiles;
  inside: string;
}

class FileAddress {
  private readonly wanted: Buffer;
  private underWay = 0;

  constructor(
    private readonly directory: AgentDirectory,
    readToken: string,
  ) {
    this.wanted = digest(readToken);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // First of all: a caller without the token learns nothing, not even what there is to ask for.
    if (!this.isTrusted(request)) {
      response.setHeader('WWW-Authenticate', 'Bearer');
      return say(response, 401, 'The read token is missing or wrong');
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return say(response, 405, 'Files can only be read');
    }
    if (this.underWay >= mostAtOnce) {
      response.setHeader('Retry-After', '1');
      return say(response, 503, `${mostAtOnce} calls are being answered`);
    }
    this.underWay += 1;
    try {
      await this.answerTrusted(request, response);
    } finally {
      this.underWay -= 1;
    }
  }

  /** In constant time: how long a wrong token takes tells nothing about the right one. */
  private isTrusted({ headers }: IncomingMessage): boolean {
    const given = [headers['x-muster-read-token'], /^bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]];
    return given.some((token) => typeof token === 'string' && timingSafeEqual(digest(token), this.wanted));
  }

  private async answerTrusted(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = urlOf(request) ?? {};
    const operation = operations.get(pathname ?? '');
    if (!operation) return say(response, 404, 'There are /files/browse, /files/read and /files/download');
    const query = Query.safeParse(Object.fromEntries(searchParams ?? []));
    if (!query.success) {
      const [issue] = query.error.issues;
      return say(response, 400, `${issue?.path.join('.')} ${issue?.message}`);
    }
    const place = this.find(query.data.path);
    if (!place || !(await operation(place, query.data, { request, response })))
      say(response, 404, `No task has '${query.data.path}'`);
  }

  /** The directory of a sandbox is named after its task; nothing but one of these directories leads to files. */
  private find(path: string): SandboxPath | undefined {
    const names = path.split('/').filter((name) => name !== '' && name !== '.');
    if (!path.startsWith('/') || names.includes('..')) return undefined;
    const plain = `/${names.join('/')}`;
    const place = this.directory.allSandboxes.find((directory) => plain.startsWith(`${directory}/`));
    if (place === undefined) return undefined;
    const [name = '', ...inside] = plain.slice(place.length + 1).split('/');
    const taskId = taskIdOf(name);
    if (taskId === undefined) return undefined;
    const isAnyOwners = () => TaskDirectory.ownersAreItsOwn(this.directory, taskId);
    const files = new SandboxFiles(join(place, name), startFilesOf(taskId), undefined, isAnyOwners);
    return { path: plain, files, inside: inside.join('/') };
  }
}

const urlOf = ({ url = '' }: IncomingMessage): URL | undefined =>
  URL.canParse(url, 'http://agent') ? new URL(url, 'http://agent') : undefined;

const digest = (token: string): Buffer => createHash('sha256').update(token).digest();

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** Each answers whether there is such a file or directory; if not, nothing has been sent. */
type FileOperation = (place: SandboxPath, query: Query, exchange: Exchange) => Promise<boolean>;

/** Paths are told as they are asked for, absolute. */
const browse: FileOperation = async ({ path, files, inside }, _query, { response }) => {
  const entries = await files.list(inside);
  if (entries)
    sendJson(
      response,
      200,
      entries.map(({ name, ...facts }) => ({ path: `${path}/${name}`, name, ...facts })),
    );
  return entries !== undefined;
};

/** Clients of this address ask for the length of a file by leaving the offset out. */
const read: FileOperation = async ({ files, inside }, { offset = -1, ...choice }, { response }) => {
  const chunk = await readChunk({ offset, ...choice }, (offset, length) => files.read(inside, offset, length));
  if (chunk) sendJson(response, 200, chunk);
  return chunk !== undefined;
};

/** As many bytes as the file has now, never held as a whole. */
const download: FileOperation = async ({ files, inside }, _query, { request, response }) => {
  const opened = await files.open(inside);
  if (!opened) return false;
  const { handle, size, mtime } = opened;
  const name = basename(inside);
  response.setHeader('Content-Type', 'application/octet-stream');
  response.setHeader('Content-Disposition', `attachment; filename*=UTF-8''${encoded(name)}`);
  try {
    const open = async (start: number, length: number) =>
      handle.createReadStream({ start, end: start + length - 1, autoClose: false });
    await sendFile(request, response, { name, size, mtime, open });
  } catch (cause) {
    if (!(cause instanceof SchedulerError)) throw cause;
    say(response, cause.status, cause.message);
  } finally {
    await handle.close();
  }
  return true;
};

const operations: ReadonlyMap<string, FileOperation> = new Map([
  ['/files/browse', browse],
  ['/files/read', read],
  ['/files/download', download],
]);

/** Name in a form that a header may hold. */
const encoded = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);

const say = (response: ServerResponse, status: number, message: string): void =>
  sendJson(response, status, { status, message });

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(text);
}
