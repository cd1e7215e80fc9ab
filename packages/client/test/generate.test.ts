import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { generate, type Names } from '../scripts/generate.mjs';

const answer = (schema: object) => ({ 200: { description: 'Done.', content: { 'application/json': { schema } } } });
const record = { $ref: '#/components/schemas/TaskStateDto' };
const get = (operationId: string, responses: object = answer(record)) => ({
  operationId,
  tags: ['New things'],
  responses,
});
const document = (paths: object) => ({
  openapi: '3.0.0',
  info: { title: 'Test', version: '1' },
  paths,
  components: {
    schemas: {
      TaskStateDto: { type: 'object', properties: { state: { $ref: '#/components/schemas/TaskState' } } },
      TaskState: { type: 'string', enum: ['ON', 'OFF'] },
    },
  },
});

async function made(paths: object, names: Names = { groups: {}, names: {} }) {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  await generate(document(paths), path, names);
  const [operations, records] = ['operations', 'records'].map((name) => readFileSync(join(path, `${name}.ts`), 'utf8'));
  return { operations: operations!, records: records! };
}

test('an operation that nobody has named is called as its id ends, in a group called as its chapter', async () => {
  const { operations } = await made({
    '/things': { get: { ...get('Things_all', answer({ type: 'array', items: record })), summary: 'Lists */ them.' } },
    '/things/file': { get: get('Things_file', { 200: { description: 'A file.', content: { '*/*': {} } } }) },
    '/things/gone': { delete: get('Things_gone', { 204: { description: 'Done.' } }) },
    '/things/state': { get: get('Things_state', answer({ allOf: [{ $ref: '#/components/schemas/TaskState' }] })) },
  });
  expect(operations).toContain(
    "  readonly newThings: {\n    /** Lists *\\/ them. */\n    readonly all: Call<'GET', '/things', 'array'>;",
  );
  expect(operations).toContain("    file: ['GET', '/things/file', 'bytes'],");
  expect(operations).toContain("    gone: ['DELETE', '/things/gone', 'nothing'],");
  expect(operations).toContain("    state: ['GET', '/things/state', 'string'],");
});

test('a record is called as in the API, and the one that shares the name of an enumeration has its own', async () => {
  const { operations, records } = await made({ '/things': { get: get('Things_all') } });
  expect(records).toMatch(/SchedulerTaskState: \{\n +state\?: components\["schemas"\]\["TaskState"\];/);
  expect(records).toContain('export type TaskState = ');
  expect(operations).toContain('"TaskState": [\n    "ON",\n    "OFF"\n  ]');
});

test('two operations of one name, and a name for an operation that there is not, stop the build', async () => {
  const two = { '/a': { get: get('One_find') }, '/b': { get: get('Other_find') } };
  await expect(made(two)).rejects.toThrow('two operations of New things are called find');
  const { operations } = await made(two, { groups: {}, names: { Other_find: 'findOther' } });
  expect(operations).toContain("findOther: ['GET', '/b', 'object']");
  await expect(made(two, { groups: {}, names: { Other_find: 'x', Gone_list: 'y' } })).rejects.toThrow(
    'names operations that there are not: Gone_list',
  );
});
