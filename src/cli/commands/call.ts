import { readFileSync } from 'node:fs';
import type { Muster } from 'muster-client';
import { CliError } from '../exit-codes.js';
import { remote } from '../remote/session.js';
import { type Define, examples } from '../run.js';

export const call: Record<string, Define> = { call: define };

interface Flags {
  data?: string;
  raw?: boolean;
}

/** Any operation of the API: those that have no command of their own, too. */
function define(...[command, run]: Parameters<Define>): void {
  command
    .argument('<method>', 'GET, POST, PUT or DELETE')
    .argument('<path>', 'path below /api with its query, such as "history/tasks?count=5"')
    .option('-d, --data <json>', 'body of the call, or @file; @- for stdin')
    .option('--raw', 'print all bytes on a terminal, even those that control it');
  command.addHelpText('after', '\n/swagger of the server shows all operations.');
  examples(
    command,
    `muster call PUT requests/request/web/priority -d '{"priority": 0.8, "durationMillis": 3600000}'`,
    `muster call POST users/settings/starred-requests -d '{"starredRequestIds": ["web"]}'`,
    'muster call GET "history/tasks?requestId=web&count=5"',
  );
  remote<Flags, [string, string]>(command, run, async ({ api, out }, { data, raw = false }, method, path) => {
    const { calls } = await import('muster-client');
    const { group, name, args } = operationOf(calls, method, path);
    const operations = api[group] as Record<string, (args: object) => Promise<unknown>>;
    const answer = await operations[name]!({ ...args, ...(data !== undefined && { body: bodyOf(data) }) });
    if (isBytes(answer)) for await (const piece of answer) out.log(piece, { raw });
    else if (typeof answer === 'string') out.log(answer, { raw });
    else if (answer !== undefined) out.json(answer, 2);
  });
}

type Table = Readonly<
  Record<string, Readonly<Record<string, readonly [method: string, path: string, answer: string]>>>
>;

/** The operation with this method and path, and what path and query give it. */
function operationOf(calls: Table, method: string, target: string) {
  const { pathname, searchParams } = urlOf(target);
  const given = pathname.slice(1).split('/');
  const found = Object.entries(calls).flatMap(([group, operations]) =>
    Object.entries(operations).flatMap(([name, [itsMethod, path]]) => {
      const args = argsOf(path.slice(1).split('/'), given);
      return args === undefined ? [] : [{ group: group as keyof Muster, name, method: itsMethod, args }];
    }),
  );
  const fitting = found.filter((each) => each.method === method.toUpperCase());
  // A path without parameters goes before one that has them.
  const [operation] = fitting.toSorted((a, b) => Object.keys(a.args).length - Object.keys(b.args).length);
  if (!operation) {
    const methods = [...new Set(found.map((each) => each.method))].toSorted();
    const hint = methods.length === 0 ? '' : ` (there is ${methods.join(', ')})`;
    throw new CliError('usage', `there is no operation ${method.toUpperCase()} ${pathname}${hint}`);
  }
  const query = [...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]);
  return { ...operation, args: { ...operation.args, ...Object.fromEntries(query) } };
}

function urlOf(target: string): URL {
  const path = target.startsWith('/') ? target : `/api/${target}`;
  const url = URL.parse(`http://muster${path}`);
  if (!url) throw new CliError('usage', `'${target}' is no path`);
  return url;
}

/** Parameters of a path, where the given one fits it. */
function argsOf(path: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (path.length !== given.length) return undefined;
  const args: Record<string, string> = {};
  for (const [index, part] of path.entries()) {
    const [, parameter] = /^\{(\w+)\}$/.exec(part) ?? [];
    if (parameter === undefined) {
      if (part !== given[index]) return undefined;
    } else args[parameter] = textOf(given[index]!);
  }
  return args;
}

function textOf(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new CliError('usage', `'${part}' of the path has a % that begins no byte; write %25`);
  }
}

function bodyOf(data: string): unknown {
  const text = data.startsWith('@') ? contentOf(data === '@-' ? 0 : data.slice(1)) : data;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CliError('usage', `--data is not JSON: ${(cause as Error).message}`, { cause });
  }
}

function contentOf(file: string | number): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new CliError('usage', `--data cannot be read: ${(cause as Error).message}`, { cause });
  }
}

const isBytes = (answer: unknown): answer is AsyncIterable<Uint8Array> =>
  typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer;
