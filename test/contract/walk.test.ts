import { describe, expect, test } from 'vitest';
import type { Contract } from './contract.js';
import type { Document } from './document.js';
import { alikeMembers, walk } from './walk.js';

const contract = (): Contract => ({
  operations: [
    {
      group: 'Things',
      statedStatuses: '',
      method: 'POST',
      path: '/things/{id}',
      params: [
        { name: 'id', in: 'path', required: true, type: 'string' },
        { name: 'order', in: 'query', required: false, type: 'ASC / DESC', default: 'ASC' },
      ],
      body: { type: 'SchedulerThing', required: false },
      response: 'array of SchedulerPage<SchedulerThing>',
    },
  ],
  records: {
    SchedulerThing: { size: { type: 'int64' }, oldSize: { type: 'int64', writeOnly: true } },
    'SchedulerPage<SchedulerThing>': { objects: { type: 'map string to SchedulerThing' } },
  },
});

const document = () => ({
  paths: {
    '/things/{id}': {
      post: {
        parameters: [
          { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
          { name: 'order', in: 'query', schema: { type: 'string', enum: ['ASC', 'DESC'], default: 'ASC' } },
          { name: 'beyond', in: 'query', schema: { type: 'string' } },
        ],
        requestBody: {
          required: false,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/ThingDto' } } },
        },
        responses: {
          '200': {
            content: {
              'application/json': { schema: { type: 'array', items: { $ref: '#/components/schemas/PageOfThing' } } },
            },
          },
        },
      },
    },
  },
  components: {
    schemas: {
      ThingDto: {
        type: 'object',
        properties: {
          size: { type: 'integer', format: 'int64' },
          oldSize: { type: 'integer', format: 'int64', writeOnly: true },
          beyond: { type: 'string' },
        },
      },
      PageOfThing: {
        type: 'object',
        properties: {
          objects: { type: 'object', additionalProperties: { allOf: [{ $ref: '#/components/schemas/ThingDto' }] } },
        },
      },
    },
  },
});
type Served = ReturnType<typeof document>;

const operation = 'POST /things/{id}';
function differences(change: (served: Served) => void): Record<string, string[]> {
  const served = document();
  change(served);
  const { operations, records } = walk(contract(), served as unknown as Document);
  return Object.fromEntries([...operations, ...records]);
}
const post = (served: Served) => served.paths['/things/{id}'].post;
const { schemas } = document().components;

test('a document that has everything, and more, differs in nothing', () => {
  expect(differences(() => undefined)).toEqual({});
});

describe('the walk finds', () => {
  test.each<{ name: string; change: (served: Served) => void; found: Record<string, string[]> }>([
    {
      name: 'an operation that is missing',
      change: (served) => Object.assign(served, { paths: {} }),
      found: { [operation]: ['does not exist'] },
    },
    {
      name: 'a parameter that is missing',
      change: (served) => post(served).parameters.shift(),
      found: { [operation]: ['parameter id does not exist'] },
    },
    {
      name: 'a parameter that must be given, or need not',
      change: (served) => Object.assign(post(served).parameters[1]!, { required: true }),
      found: { [operation]: ['parameter order is required'] },
    },
    {
      name: 'a word or a default that is missing',
      change: (served) => Object.assign(post(served).parameters[1]!.schema, { enum: ['ASC'], default: undefined }),
      found: {
        [operation]: ['parameter order lacks the words DESC', 'parameter order has default undefined, not ASC'],
      },
    },
    {
      name: 'a body that is missing',
      change: (served) => Object.assign(post(served), { requestBody: undefined }),
      found: { [operation]: ['body does not exist'] },
    },
    {
      name: 'a body that must be sent',
      change: (served) => Object.assign(post(served).requestBody, { required: true }),
      found: { [operation]: ['body is required'] },
    },
    {
      name: 'an answer without a description',
      change: (served) => Object.assign(post(served).responses, { '200': {} }),
      found: { [operation]: ['answer is not described, instead of array of SchedulerPage<SchedulerThing>'] },
    },
    {
      name: 'a record that is missing, wherever it was used',
      change: (served) => Object.assign(served.components, { schemas: { PageOfThing: schemas.PageOfThing } }),
      found: {
        [operation]: ['body is ThingDto, not SchedulerThing'],
        SchedulerThing: ['does not exist'],
        'SchedulerPage<SchedulerThing>': ['objects (its parts) is ThingDto, not SchedulerThing'],
      },
    },
    {
      name: 'a field that is missing',
      change: (served) => Object.assign(served.components.schemas.ThingDto.properties, { size: undefined }),
      found: { SchedulerThing: ['size does not exist'] },
    },
    {
      name: 'a field of another type',
      change: (served) => Object.assign(served.components.schemas.ThingDto.properties.size, { format: 'int32' }),
      found: { SchedulerThing: ['size is integer int32, not int64'] },
    },
    {
      name: 'a write-only field that answers might have',
      change: (served) =>
        Object.assign(served.components.schemas.ThingDto.properties.oldSize, { writeOnly: undefined }),
      found: { SchedulerThing: ['oldSize is not marked writeOnly'] },
    },
  ])('$name', ({ change, found }) => expect(differences(change)).toEqual(found));
});

test('members that are one but for capital letters and underscores are alike, and one of them is enough for the contract', () => {
  const served = document();
  Object.assign(served.components.schemas.ThingDto.properties, { old_size: {}, Size: {} });
  expect(alikeMembers(served as unknown as Document)).toEqual([
    'ThingDto.size',
    'ThingDto.oldSize',
    'ThingDto.old_size',
    'ThingDto.Size',
  ]);
  expect(differences((other) => renamed(other.components.schemas.ThingDto.properties, 'oldSize', 'oldsize'))).toEqual(
    {},
  );
});
const renamed = (members: Record<string, object>, from: string, to: string): void => {
  members[to] = members[from]!;
  delete members[from];
};
