import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Installation } from './support/product.js';

interface Described {
  description?: string;
  $ref?: string;
  allOf?: unknown[];
  properties?: Record<string, Described>;
}
interface Operation {
  summary?: string;
  description?: string;
  parameters?: ({ name: string } & Described)[];
  responses: Record<string, unknown>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Described> };
}

/** The document of the built product: the plugin that reads the comments runs in the build only. */
describe('the OpenAPI document', () => {
  const installation = new Installation();
  let document: Document;
  beforeAll(async () => {
    const { api } = await installation.start();
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

  test('says of every operation what it does, and of every parameter what it means', () => {
    const silent = operations().flatMap(([name, { summary, description, parameters = [] }]) => [
      ...(summary || description ? [] : [name]),
      ...parameters.filter((parameter) => !parameter.description).map((parameter) => `${name}: ${parameter.name}`),
    ]);
    expect(silent).toEqual([]);
    expect(operations().length).toBeGreaterThan(100);
  });

  test('promises no 201, which this API never answers', () => {
    expect(operations().filter(([, { responses }]) => '201' in responses)).toEqual([]);
  });
});
