import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jobSpecification } from '../../scripts/reference.mjs';
import { SettingsFile } from '../../src/platform/settings/settings.js';
import type { Api } from './support/api.js';
import { Installation } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

interface Described {
  description?: string;
  $ref?: string;
  allOf?: unknown[];
  properties?: Record<string, Described>;
  required?: string[];
}
interface Operation {
  summary?: string;
  description?: string;
  parameters?: ({
    name: string;
    in: string;
    required?: boolean;
    example?: unknown;
    schema?: { enum?: string[] };
  } & Described)[];
  responses: Record<string, { content?: Record<string, { schema?: object; example?: unknown }> }>;
  deprecated?: boolean;
  requestBody?: { content: Record<string, { schema?: { $ref?: string; example?: unknown }; example?: object }> };
}
interface Document {
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Described> };
}

/** The document of the built product: the plugin that reads the comments runs in the build only. */
describe('the OpenAPI document', () => {
  const installation = new Installation({ database: createDatabase, settings: { allowTestResourceCalls: true } });
  let api: Api;
  let document: Document;
  beforeAll(async () => {
    ({ api } = await installation.start());
    document = await api.document();
  }, 90_000);
  afterAll(() => installation.dispose(), 90_000);

  const operations = (): [string, Operation][] =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
    );

  test('is valid', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
    expect(valid, JSON.stringify(errors)).toBe(true);
  });

  test('describes every field of every record', () => {
    const silent = Object.entries(document.components.schemas).flatMap(([record, { properties = {} }]) =>
      Object.entries(properties)
        .filter(([, field]) => !field.description)
        .map(([field]) => `${record}.${field}`),
    );
    expect(silent).toEqual([]);
  });

  /** Records of what people write, and those that they hold. */
  function recordsOfJobs(): [string, Described & { properties: Record<string, Member> }][] {
    const seen = new Set<string>();
    const visit = (name: string): void => {
      const record = document.components.schemas[name]!;
      if (seen.has(name) || !record.properties) return;
      seen.add(name);
      for (const [, held] of JSON.stringify(record).matchAll(/"#\/components\/schemas\/(\w+)"/g)) visit(held!);
    };
    for (const name of ['RequestDto', 'DeployRequestDto', 'RunNowRequestDto']) visit(name);
    return [...seen].map((name) => [name, document.components.schemas[name] as never]);
  }
  interface Member extends Described {
    type?: string;
    enum?: unknown[];
    example?: unknown;
  }

  test('docs/job-specification.md is made of it; node scripts/reference.mjs writes that page', () => {
    const page = readFileSync(new URL('../../docs/job-specification.md', import.meta.url), 'utf8');
    expect(jobSpecification(document)).toBe(page);
    const chapters = new Map(page.split('\n## ').map((chapter) => [/^\w+/.exec(chapter)?.[0], chapter]));
    const missing = recordsOfJobs().flatMap(([record, { properties }]) =>
      Object.keys(properties)
        .filter((field) => !chapters.get(record.replace(/Dto$/, ''))?.includes(`\n| \`${field}\` |`))
        .map((field) => `${record}.${field}`),
    );
    expect(missing).toEqual([]);
    expect(recordsOfJobs().length).toBeGreaterThan(25);
  });

  test('has an example for each text, number, list and map of a job', () => {
    const silent = recordsOfJobs().flatMap(([record, { properties }]) =>
      Object.entries(properties)
        .filter(([, { type, enum: words, example, ...rest }]) => {
          const holdsRecords = JSON.stringify(rest).includes('#/components/schemas/');
          return type !== 'boolean' && !words && !holdsRecords && example === undefined;
        })
        .map(([field]) => `${record}.${field}`),
    );
    expect(silent).toEqual([]);
  });

  test('says of a setting that is a default what its own default is', () => {
    const settings = SettingsFile.parse({}) as Record<string, unknown>;
    const said = recordsOfJobs().flatMap(([record, { properties }]) =>
      Object.entries(properties).flatMap(([field, { description = '' }]) =>
        [...description.replaceAll('\n', ' ').matchAll(/(?:settings?|,|and) ([a-z][\w.]*[a-z]) \(([^)]+)\)/g)].map(
          ([, path, value]) => [`${record}.${field}`, path!, value!] as const,
        ),
      ),
    );
    const wrong = said.filter(([, path, value]) => {
      const at = path
        .split('.')
        .reduce<unknown>((of, key) => (of as Record<string, unknown> | undefined)?.[key], settings);
      const words = value.replace(/ seconds$/, '');
      // Words stand for a setting without a default.
      return at === undefined || (Array.isArray(at) && at.length === 0) ? /^[\dA-Z]/.test(words) : words !== String(at);
    });
    expect(wrong).toEqual([]);
    expect(said.length).toBeGreaterThan(15);
  });

  test('says of every operation what it does, and of every parameter what it means', () => {
    const silent = operations().flatMap(([name, { summary, description, parameters = [] }]) => [
      ...(summary || description ? [] : [name]),
      ...parameters.filter((parameter) => !parameter.description).map((parameter) => `${name}: ${parameter.name}`),
    ]);
    expect(silent).toEqual([]);
    expect(operations().length).toBeGreaterThan(100);
  });

  test('has an example for each body, with every member that is required and none that is not known', () => {
    const wrong = operations().flatMap(([name, { requestBody }]) => {
      const { schema, example } = requestBody?.content?.['application/json'] ?? {};
      if (!schema?.$ref) return [];
      const { properties = {}, required = [] } = document.components.schemas[schema.$ref.split('/').at(-1)!]!;
      if (example === undefined) return [`${name}: none`];
      const members = Object.keys(example);
      return [
        ...required.filter((member) => !members.includes(member)).map((member) => `${name}: no ${member}`),
        ...members.filter((member) => !(member in properties)).map((member) => `${name}: ${member}`),
      ];
    });
    expect(wrong).toEqual([]);
  });

  test('has an example of each answer that is as its schema says, without made-up words', () => {
    const closed = structuredClone(document);
    for (const record of Object.values(closed.components.schemas))
      if (record.properties) Object.assign(record, { additionalProperties: false });
    const ajv = new Ajv({ strict: false, validateFormats: false }).addSchema(closed, 'api');
    const wrong = operations().flatMap(([name, { responses }]) => {
      const { schema, example } = responses['200']?.content?.['application/json'] ?? {};
      if (!schema) return [];
      const text = JSON.stringify(schema).replaceAll('"#/components/', '"api#/components/');
      const isValid = ajv.compile(JSON.parse(text) as object);
      if (!isValid(example)) return [`${name}: ${ajv.errorsText(isValid.errors)}`];
      return JSON.stringify(example).includes('"text"') ? [`${name}: ${JSON.stringify(example)}`] : [];
    });
    expect(wrong).toEqual([]);
  });

  test('has examples that are taken as they are, the one after the other', async () => {
    const sent = [
      ['post /api/requests', 200],
      ['post /api/deploys', 200],
      ['put /api/requests/request/{requestId}/scale', 200],
      ['put /api/requests/request/{requestId}/priority', 200],
      ['put /api/requests/request/{requestId}/skip-healthchecks', 200],
      ['post /api/requests/request/{requestId}/groups', 200],
      ['post /api/users/settings', 204],
      ['post /api/webhooks', 200],
    ] as const;
    for (const [name, status] of sent) {
      const [method, path] = name.split(' ') as [string, string];
      const { example } = document.paths[path]![method]!.requestBody!.content['application/json']!;
      const answer = await fetch(api.url + path.replace('{requestId}', 'web'), {
        method: method.toUpperCase(),
        headers: { 'content-type': 'application/json', prefer: 'handling=strict' },
        body: JSON.stringify(example),
      });
      expect([name, answer.status, answer.status === status ? '' : await answer.text()]).toEqual([name, status, '']);
    }
  });

  test('has no example that cannot be sent: each operation is called with its own, in the strict way, and none is malformed', async () => {
    // These end a process, or read without end; the ids of those of tests are checked first of all.
    const left = ['post /api/disasters/failover', 'get /api/events', 'post /api/test/'];
    const wrong: string[] = [];
    for (const [name, { parameters = [], requestBody }] of operations()) {
      if (left.some((each) => name.startsWith(each))) continue;
      const [method, path] = name.split(' ') as [string, string];
      const values = parameters
        .filter((each) => each.required)
        .map((each) => {
          const value = each.example ?? each.schema?.enum?.[0];
          if (value === undefined) wrong.push(`${name}: no example of ${each.name}`);
          return [each, encodeURIComponent(String(value))] as const;
        });
      const at = values
        .filter(([each]) => each.in === 'path')
        .reduce((url, [each, value]) => url.replace(`{${each.name}}`, value), path);
      const query = values.filter(([each]) => each.in === 'query').map(([each, value]) => `${each.name}=${value}`);
      const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
      const given = content?.example ?? content?.schema?.example ?? (content?.schema?.$ref ? {} : undefined);
      const text = type === 'application/json' ? JSON.stringify(given) : String(given);
      const body = method === 'get' || given === undefined ? undefined : text;
      const answer = await fetch(`${api.url}${at}?${query.join('&')}`, {
        method: method.toUpperCase(),
        headers: { prefer: 'handling=strict', ...(body && { 'content-type': type! }) },
        body,
      });
      const said = await answer.text();
      // Such things as a task that does not run are no matter of the call.
      if (answer.status === 500 || /"code":"(INVALID_|MALFORMED|UNSUPPORTED|METHOD|NOT_ACCEPTABLE)/.test(said))
        wrong.push(`${name}: ${answer.status} ${said.slice(0, 200)}`);
    }
    expect(wrong).toEqual([]);
  }, 60_000);

  test('is of the version of the package, and shows what only older clients use last', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as object & {
      version: string;
    };
    expect(document.info.version).toBe(version);
    const old = Object.values(document.paths).map((item) => Object.values(item).every(({ deprecated }) => deprecated));
    expect(old.indexOf(true)).toBeGreaterThan(old.lastIndexOf(false));
  });

  test('promises no 201, which this API never answers', () => {
    expect(operations().filter(([, { responses }]) => '201' in responses)).toEqual([]);
  });

  test('a word in a path may be written in any case, and is one of those it lists', async () => {
    const ids: Record<string, string> = { taskId: 'a-b-1700000000000-1-host-rack' };
    const words = operations().flatMap(([operation, { parameters = [] }]) =>
      parameters
        .filter((parameter) => parameter.in === 'path' && parameter.schema?.enum)
        .map(({ name, schema }) => ({ operation, name, enum: schema!.enum! })),
    );
    expect(words.map(({ operation }) => operation)).toEqual(
      expect.arrayContaining([expect.stringContaining('{taskState}'), expect.stringContaining('{action}')]),
    );
    const said: string[] = [];
    const statusOf = async (operation: string, name: string, word: string): Promise<number> => {
      const [method, path] = operation.split(' ') as [string, string];
      const url = path.replaceAll(/\{(\w+)\}/g, (_all, id: string) => (id === name ? word : (ids[id] ?? 'none')));
      return (await fetch(api.url + url, { method: method.toUpperCase() })).status;
    };
    for (const { operation, name, enum: listed } of words) {
      for (const word of listed) {
        const spelt = [word, word.toLowerCase(), word[0] + word.slice(1).toLowerCase()];
        const [status, ...others] = await Promise.all(spelt.map((written) => statusOf(operation, name, written)));
        said.push(...spelt.slice(1).flatMap((written, at) => (others[at] === status ? [] : `${operation} ${written}`)));
      }
      for (const none of ['nothing', `${listed[0]}x`, `${listed[0]}%20`])
        if ((await statusOf(operation, name, none)) !== 400) said.push(`${operation} ${none}`);
    }
    expect(said).toEqual([]);
  }, 120_000);
});
