import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MusterApi } from 'muster-client';
import { openapi } from 'rest-contract/openapi';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { documentOf } from '../../packages/client/scripts/document.mjs';
import { Installation } from '../e2e/support/product.js';
import { compareDocuments } from './compare-documents.js';
import { readAdditions, readContract } from './contract.js';
import type { Document } from './document.js';

/** A GET has no body in HTTP as clients have it: `fetch` refuses to send one, and the service does not read it. */
const bodiesOfReads = ['GET /api/usage/requests', 'GET /api/usage/requests/request/{requestId}'];

const ours = documentOf(openapi, MusterApi) as unknown as Document;

/** What decorators let be absent, the served document must not require: else no client could leave it out. */
test('no field that callers may leave out is required', () => {
  const src = fileURLToPath(new URL('../../src/', import.meta.url));
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.dto.ts'));
  const wrong = files.flatMap((file) => {
    const members = readFileSync(src + file, 'utf8').split(/;\n/);
    return members
      .map((text) => ({ text, name: /\n {2}(\w+): [^\n]*$/.exec(text)?.[1] }))
      .filter(({ text, name }) => name && text.includes('@IsOptional()'))
      .map(({ name }) => `${file}: ${name}`);
  });
  expect(files.length).toBeGreaterThan(30);
  // These are required: rules say so, in better words than a decorator.
  const byRules = ['id', 'requestType'].map((name) => `modules/requests/dto/request.dto.ts: ${name}`);
  expect(wrong).toEqual(byRules);
});

describe('the contract of the client', () => {
  const installation = new Installation();
  let served: Document;
  beforeAll(async () => {
    const { api } = await installation.start();
    served = await api.document();
  }, 90_000);
  afterAll(() => installation.dispose(), 90_000);

  const compare = (theirs: Document, own: Document = ours) => compareDocuments(theirs, own, bodiesOfReads);
  const namesOf = (operations: readonly { method: string; path: string }[]) =>
    operations.map(({ method, path }) => `${method} ${path}`);

  test('is what is served: each path, parameter, body, answer, record and field, with its type and whether it must be there', () => {
    const { differences, operations, records, fields } = compare(served);
    const differs = (name: string) => differences.some((difference) => difference.startsWith(`${name}:`));
    // A path has one template there, whatever its parameters are called here.
    const shapes = operations.map((name) => name.replaceAll(/\{\w+\}/g, '{}'));
    const isServed = (name: string) => shapes.includes(name.replaceAll(/\{\w+\}/g, '{}'));
    const whole = (all: string[]) =>
      `${all.filter((name) => isServed(name) && !differs(name)).length} of ${all.length}`;
    const [known, additions] = [namesOf(readContract().operations), namesOf(readAdditions())];
    const summary = `${whole(known)} operations, ${whole(additions)} additions, ${records} records, ${fields} fields`;
    console.log([summary, ...differences].join('\n'));
    expect(differences).toEqual([]);
    expect(summary).toMatch(/^179 of 179 operations, /);
  });

  type Change = (document: Document) => void;
  const record = (name: string) => (document: Document) => document.components.schemas[keyOf(document, name)]!;
  const operation = (path: string, method: string) => (document: Document) => document.paths[path]![method]!;
  const run = operation('/api/requests/request/{requestId}/run', 'post');
  test.each<[string, Change, string]>([
    ['a path', (d) => delete d.paths['/api/state'], 'GET /api/state'],
    ['a method', (d) => delete d.paths['/api/groups']!['post'], 'POST /api/groups'],
    [
      'a parameter',
      (d) => run(d).parameters!.pop(),
      'POST /api/requests/request/{requestId}/run: parameter query minimal',
    ],
    ['whether a parameter must be there', (d) => (run(d).parameters![1]!.required = true), 'parameter query minimal'],
    ['the type of a parameter', (d) => (run(d).parameters![1]!.schema = { type: 'string' }), 'parameter query minimal'],
    ['a body', (d) => delete run(d).requestBody, 'POST /api/requests/request/{requestId}/run'],
    ['whether a body must be there', (d) => (run(d).requestBody!.required = true), 'body'],
    ['the record of a body', (d) => (run(d).requestBody = operation('/api/groups', 'post')(d).requestBody), 'body'],
    ['an answer', (d) => (run(d).responses = { 200: {} }), 'answers'],
    ['the record of an answer', (d) => (run(d).responses = operation('/api/state', 'get')(d).responses), 'answer'],
    ['a record', (d) => delete d.components.schemas[keyOf(d, 'Webhook')], 'Webhook'],
    ['a field', (d) => delete record('Task')(d).properties!['rackId'], 'Task.rackId'],
    ['whether a field must be there', (d) => record('Task')(d).required!.pop(), 'Task.rackId'],
    ['the type of a field', (d) => (record('Task')(d).properties!['rackId'] = { type: 'boolean' }), 'Task.rackId'],
    ['a word', (d) => record('DeployState')(d).enum!.pop(), 'DeployState'],
  ])('a difference in %s is found, on either side', (_name, change, where) => {
    for (const isServed of [true, false]) {
      const changed = structuredClone(isServed ? served : ours);
      change(changed);
      const { differences } = isServed ? compare(changed) : compare(served, changed);
      expect(differences.join('\n')).toContain(where);
    }
  });
});

const keyOf = ({ components }: Document, name: string): string => (components.schemas[name] ? name : `${name}Dto`);
