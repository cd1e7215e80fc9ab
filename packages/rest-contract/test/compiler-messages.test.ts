import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';

// What an author who makes the mistake reads: the sentence has to be in the compiler's message.

const here = dirname(fileURLToPath(import.meta.url));
const PREAMBLE = `
import { z } from 'zod';
import { body, bytes, codec, connect, contract, field, get, header, path, post, prefix, query, serve, unit } from '../src/index.js';
import { transientDefault, whenAbsent } from '../src/zod.js';
const s = z.string();
const backend = async () => ({ status: 204, headers: [], body: { kind: 'empty' } as const });
const writes = codec('json', { encode: (n: Map<string, number>) => Object.fromEntries(n) });
`;
const mistakes: readonly (readonly [string, string])[] = [
  ['get({ name: field(s) }, unit);', "GET takes no body: 'name' must be path, query or header"],
  ['post({ a: body(bytes()), b: body(bytes()) }, unit);', "An operation has one body: 'a' is one of several"],
  ['post({ a: body(bytes()), b: s }, unit);', "'b' must be path, query, header or cookie: 'a' is the whole body"],
  ['post({ a: body(bytes()) }, unit, { form: true });', "A form is made of fields: 'a' cannot be its body"],
  ["prefix({ a: body(s) }, contract('Y', {}));", "A prefix takes no body: 'a' must be path, query, header or cookie"],
  ["path(s).whenAbsent('x');", 'A path parameter is always there: it takes no default'],
  ['query(s).transientDefault();', 'transientDefault needs a default: whenAbsent or optional'],
  [
    "contract('X', { a: get({}, z.map(s, s)) });",
    "The result of 'a' needs a codec: no default covers its type as result",
  ],
  [
    "contract('X', { a: get({ q: z.object({}) }, unit) });",
    "'q' of 'a' needs a codec: no default covers its type as query",
  ],
  [
    "contract('X', { a: post({ f: s.transform(Number) }, unit) });",
    "'f' of 'a' needs a codec: its schema only reads, what it puts out cannot be sent back",
  ],
  [
    "contract('X', { a: get({ p: path(codec('json', { encode: (n: number) => n, decode: Number })) }, unit) });",
    "'p' of 'a' has a codec of another kind than its place, path, can use",
  ],
  [
    "connect(contract('X', { a: get({}, writes) }), backend);",
    "A client needs 'decode' for the result of 'a', whose codec has only 'encode'",
  ],
  [
    "serve(contract('X', { a: post({ m: writes }, unit) }), { a: async () => {} });",
    "A server needs 'decode' for 'm' of 'a', whose codec has only 'encode'",
  ],
  [
    "contract('X', { a: post({ r: z.object({ n: transientDefault(z.int(), 5) }) }, unit) });",
    "'r' of 'a' needs a codec: its schema only reads, what it puts out cannot be sent back",
  ],
  [
    "contract('X', { a: get({}, z.object({ n: whenAbsent(z.int(), 5) })) });",
    "The result of 'a' needs a codec: its schema only reads, what it puts out cannot be sent back",
  ],
  [
    "contract('X', { a: get({}, s, { errors: { 409: z.map(s, s) } }) });",
    "Error 409 of 'a' needs a codec: no default covers its type as body",
  ],
  ["serve(contract('X', { a: get({}, s), b: get({}, s) }), { a: async () => '' });", "Property 'b' is missing"],
];

/** Checks a source that stands in this folder, or only in memory. */
function check(
  file: string,
  source?: string,
): { program: ts.Program; parsed: ts.SourceFile; errors: readonly ts.Diagnostic[] } {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    lib: ['lib.es2023.d.ts'],
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    noErrorTruncation: true,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (name, target) =>
    name === file && source !== undefined
      ? ts.createSourceFile(name, source, target)
      : getSourceFile.call(host, name, target);
  host.fileExists = (name) => name === file || fileExists.call(host, name);
  host.readFile = (name) => (name === file && source !== undefined ? source : readFile.call(host, name));
  const program = ts.createProgram([file], options, host);
  const parsed = program.getSourceFile(file) as ts.SourceFile;
  return {
    program,
    parsed,
    errors: [...program.getSyntacticDiagnostics(parsed), ...program.getSemanticDiagnostics(parsed)],
  };
}

test('every mistake is answered by a sentence', () => {
  const source = PREAMBLE + mistakes.map(([code]) => code).join('\n');
  const { parsed, errors } = check(join(here, 'mistakes.ts'), source);
  const byLine = new Map<number, string>();
  for (const { start = 0, messageText } of errors) {
    const line = ts.getLineAndCharacterOfPosition(parsed, start).line;
    byLine.set(line, `${byLine.get(line) ?? ''}${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
  }
  const first = PREAMBLE.split('\n').length - 1;
  mistakes.forEach(([code, sentence], index) => expect(byLine.get(first + index) ?? '', code).toContain(sentence));
  expect([...byLine.keys()].filter((line) => line < first)).toEqual([]);
}, 60_000);

test('the type tests hold', () => {
  const { errors } = check(join(here, 'types.test.ts'));
  expect(errors.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
}, 60_000);

test('a contract of 200 operations over records declared as interfaces stays cheap', () => {
  const record = (n: number) => `
    export interface R${n} { id: string; at: Date; tags: string[]; next?: R${n} | undefined; inner: { a: number; b: Record<string, string> } }
    export const R${n}: z.ZodType<R${n}> = z.object({ id: s, at: z.date(), tags: s.array(), next: z.lazy(() => R${n}).optional(), inner: z.object({ a: z.number(), b: z.record(s, s) }) });`;
  const operation = (n: number) =>
    `op${n}: post({ id: path(s), flag: query(z.boolean()).whenAbsent(false), given: R${n % 40} }, R${(n + 1) % 40})`;
  const list = (count: number, make: (n: number) => string) => Array.from({ length: count }, (_, n) => make(n));
  const source = `${PREAMBLE}${list(40, record).join('\n')}
    export const Large = contract('Large', { ${list(200, operation).join(',\n')} });
    export const client = connect(Large, backend);
    export const result: Promise<R8> = client.op7({ id: '', flag: true, given: R7 as never });`;
  const start = process.cpuUsage();
  const { program, errors } = check(join(here, 'large.ts'), source);
  expect(errors.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
  // Most of it is the standard library and zod; instantiations are what a careless conditional type multiplies.
  expect(process.cpuUsage(start).user / 1e6).toBeLessThan(30);
  expect(program.getInstantiationCount()).toBeLessThan(2_000_000);
}, 60_000);
