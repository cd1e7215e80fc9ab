import { afterAll, beforeAll, expect, test } from 'vitest';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';
import { readAdditions, readContract } from './contract.js';
import type { Document } from './document.js';
import { alikeMembers, beyond, walk } from './walk.js';

/** The built product: the plugin that describes records from their comments and types runs in the build only. */
const installation = new Installation({ database: createDatabase });
let document: Document;
let url: string;
beforeAll(async () => {
  const { api } = await installation.start();
  ({ url } = api);
  document = await api.document();
}, 90_000);
afterAll(() => installation.dispose(), 90_000);

test('every operation, parameter, body, answer and record of the contract is in the served document', () => {
  const contract = readContract();
  const found = walk(contract, document);
  const all = { operations: contract.operations.length, records: Object.keys(contract.records).length };
  const whole = (kind: 'operations' | 'records') => `${all[kind] - found[kind].size} of ${all[kind]} ${kind}`;
  const missing = [...found.operations, ...found.records].map(([name, what]) => `${name}: ${what.join('; ')}`);
  console.log([`${whole('operations')}, ${whole('records')}`, ...missing].join('\n'));
  expect(missing).toEqual([]);
});

test('a client can be generated from it: members, templates of paths and servers are what every generator needs', () => {
  expect(alikeMembers(document)).toEqual([]);
  const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{\w+\}/g, '{}'));
  expect(shapes.filter((shape, index) => shapes.indexOf(shape) !== index)).toEqual([]);
  expect(document.servers).toEqual([{ url: '/' }]);
});

test('OPTIONS names the methods that the document has, at paths beside those of ids, too', async () => {
  const plain = Object.entries(document.paths).filter(([path]) => path.startsWith('/api/') && !path.includes('{'));
  const wrong = await Promise.all(
    plain.map(async ([path, operations]) => {
      const answer = await fetch(url + path, { method: 'OPTIONS' });
      const allowed = (answer.headers.get('allow') ?? '').split(', ').filter((one) => !/^(HEAD|OPTIONS)$/.test(one));
      const documented = Object.keys(operations).map((method) => method.toUpperCase());
      return allowed.toSorted().join() === documented.toSorted().join() ? '' : `${path}: ${allowed.join()}`;
    }),
  );
  expect(plain.length).toBeGreaterThan(50);
  expect(wrong.filter(Boolean)).toEqual([]);
});

test('what goes beyond the contract is marked as an addition, and its operations are listed', () => {
  const { operations, unmarked } = beyond(readContract(), document);
  expect(unmarked).toEqual([]);
  expect(operations.toSorted()).toEqual(
    readAdditions()
      .map(({ method, path }) => `${method} ${path}`)
      .toSorted(),
  );
});

test('the greatest number that the document allows a parameter of a query is answered, and the one before it', async () => {
  const asked = Object.entries(document.paths).flatMap(([path, { get }]) =>
    (get?.parameters ?? []).flatMap(({ name, in: where, schema }) =>
      where === 'query' && schema?.maximum !== undefined
        ? [schema.maximum, schema.maximum - 1].map((number) => `${path.replaceAll(/\{\w+\}/g, 'x')}?${name}=${number}`)
        : [],
    ),
  );
  const answers = await Promise.all(
    asked.map(async (path) => {
      const { status, body } = await fetch(url + path);
      await body?.cancel();
      return `${status} ${path}`;
    }),
  );
  expect(answers.length).toBeGreaterThan(100);
  expect(answers.filter((answer) => answer.startsWith('5'))).toEqual([]);
});
