import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  body,
  bytes,
  connect,
  contract,
  ContractDefinitionError,
  cookie,
  field,
  get,
  group,
  header,
  param,
  path,
  post,
  prefix,
  query,
  serve,
  unit,
} from '../src/index.js';

const s = z.string();
/** As an author without the compiler would write it. */
const js = (value: unknown) => value as never;
const never = js({});
const named = (name: string, value: unknown) => Object.fromEntries([[name, value]]);

describe('refused when the contract is made', () => {
  test.each([
    [
      'an operation that looks like an integer',
      () => contract('X', { 1: get({}, unit) }),
      "X: operation '1' looks like an integer",
    ],
    [
      'a parameter that looks like an integer',
      () => contract('X', { a: get({ 10: s }, unit) }),
      "X.a: parameter '10' looks like an integer",
    ],
    [
      'inside a group',
      () => contract('X', { a: post({ g: group({ 0: s }) }, unit) }),
      "X.a: parameter '0' looks like an integer",
    ],
    ['then', () => contract('X', js(named('then', get({}, unit)))), "X: operation cannot be called 'then'"],
    [
      'constructor',
      () => contract('X', js({ ['constructor']: get({}, unit) })),
      "X: operation cannot be called 'constructor'",
    ],
    [
      '__proto__ as a key',
      () => contract('X', js({ ['__proto__']: get({}, unit) })),
      "X: operation cannot be called '__proto__'",
    ],
    [
      '__proto__ in a literal',
      () => contract('X', js({ __proto__: get({}, unit) })),
      "Contract 'X': operations must be a plain object without __proto__",
    ],
    [
      'then as a parameter',
      () => contract('X', { a: get(js(named('then', s)), unit) }),
      "X.a: parameter cannot be called 'then'",
    ],
    [
      'a field on GET',
      () => contract('X', { a: get(js({ n: field(s) }), unit) }),
      "X.a: GET takes no body: 'n' must be path, query or header",
    ],
    [
      'a body on GET',
      () => contract('X', { a: get(js({ n: body(s) }), unit) }),
      "X.a: GET takes no body: 'n' must be path, query or header",
    ],
    [
      'two bodies',
      () => contract('X', { a: post(js({ n: body(s), m: body(s) }), unit) }),
      "X.a: an operation has one body: 'm' is one too many",
    ],
    [
      'a body and a field',
      () => contract('X', { a: post(js({ n: body(s), m: s }), unit) }),
      "X.a: 'm' must be path, query, header or cookie: 'n' is the whole body",
    ],
    [
      'a body in a form',
      () => contract('X', { a: post(js({ n: body(bytes()) }), unit, { form: true }) }),
      "X.a: a form is made of fields: 'n' cannot be its body",
    ],
    [
      'a body on a prefix',
      () => contract('X', { a: prefix(js({ n: body(s) }), contract('Y', {})) }),
      "X.a: a prefix takes no body: 'n' must be path, query, header or cookie",
    ],
    [
      'a default on a path parameter',
      () => (path(s) as unknown as { whenAbsent(value: string): void }).whenAbsent('x'),
      'A path parameter is always there: it takes no whenAbsent',
    ],
    [
      'a default that a prefix makes a path parameter',
      () => contract('X', { a: prefix({ n: param(s).whenAbsent('x') }, contract('Y', {})) }),
      "X.a: 'n' is a path parameter and takes no default",
    ],
    [
      'transientDefault without default',
      () => (query(s) as unknown as { transientDefault(): void }).transientDefault(),
      'transientDefault needs a default: call whenAbsent or optional before it',
    ],
    [
      'no parameter at all',
      () => contract('X', { a: get(js({ n: 'string' }), unit) }),
      "X.a: 'n' is neither a parameter nor a schema nor a codec",
    ],
    [
      'no result',
      () => contract('X', js({ a: get({}, never) })),
      'X.a: the result is neither a schema nor a codec (nothing at all is `unit`)',
    ],
    [
      'two parameters of one name',
      () => contract('X', { a: get({ n: query(s, 'q'), m: query(s, 'q') }, unit) }),
      "X.a: two parameters are the query 'q'",
    ],
    [
      'two headers of one name in another case',
      () => contract('X', { a: get({ n: header('X-A', s), m: header('x-a', s) }, unit) }),
      "X.a: two parameters are the header 'x-a'",
    ],
    [
      'a header that is none',
      () => contract('X', { a: get({ n: header('X A\n', s) }, unit) }),
      "X.a: 'X A\n' is not a header name",
    ],
    [
      "the body's own header",
      () => contract('X', { a: post({ n: header('Content-Type', s) }, unit) }),
      "X.a: the header 'Content-Type' cannot be a parameter",
    ],
    [
      'a path that leaves its place',
      () => contract('X', { a: get({}, unit, { path: '../b' }) }),
      "X.a: path '../b' holds '..'",
    ],
  ])('%s', (_name, make, message) => {
    expect(make).toThrow(message);
  });
});

describe('refused when the server is created', () => {
  const Inner = contract('Inner', {
    read: get({}, unit, { path: 'b' }),
    other: get({ q: query(s), h: header('X-A', s), c: cookie(s) }, unit),
  });
  const ambiguous = 'Operations that could answer the same request:\n  ';
  test.each([
    [
      'the same method and path',
      contract('X', { a: get({}, unit, { path: 'p' }), b: get({}, unit, { path: '/p/' }) }),
      `${ambiguous}GET /p (X.a) and GET /p (X.b)`,
    ],
    [
      'a parameter beside a fixed segment',
      contract('X', { a: get({ x: path(s) }, unit, { path: 'a' }), b: get({}, unit, { path: 'a/b' }) }),
      `${ambiguous}GET /a/{x} (X.a) and GET /a/b (X.b)`,
    ],
    [
      'parameters that cross',
      contract('X', { a: get({ x: path(s, 'b') }, unit, { path: '' }), b: get({ y: path(s) }, unit, { path: 'a' }) }),
      `${ambiguous}GET /{x}/b (X.a) and GET /a/{y} (X.b)`,
    ],
    [
      'through prefixes',
      contract('X', { a: get({ x: path(s) }, unit), p: prefix({}, Inner, { path: 'a' }) }),
      `${ambiguous}GET /a/{x} (X.a) and GET /a/b (X.p.read)\n  GET /a/{x} (X.a) and GET /a/other (X.p.other)`,
    ],
    [
      'a query repeated behind a prefix',
      contract('X', { p: prefix({ q: query(s) }, Inner) }),
      "X.p.other: the query 'q' is already one of its prefix",
    ],
    [
      'a header repeated behind a prefix, in another case',
      contract('X', { p: prefix({ h: header('x-a', s) }, Inner) }),
      "X.p.other: the header 'X-A' is already one of its prefix",
    ],
    [
      'a cookie repeated behind a prefix',
      contract('X', { p: prefix({ c: cookie(s) }, Inner) }),
      "X.p.other: the cookie 'c' is already one of its prefix",
    ],
    [
      'a header repeated two prefixes down',
      contract('X', { p: prefix({ h: header('X-A', s) }, contract('M', { m: Inner })) }),
      "X.p.m.other: the header 'X-A' is already one of its prefix",
    ],
  ])('%s', (_name, api, message) => {
    expect(() => serve(api as never, never)).toThrow(message);
  });

  test('a contract that contains itself', () => {
    const Loop: { name: string } = contract('Loop', { again: prefix({}, () => Loop as never) });
    expect(() => serve(Loop as never, never)).toThrow(
      "Loop.again: contract 'Loop' is a prefix of itself and cannot be served",
    );
    const A: { name: string } = contract('A', { b: prefix({}, () => B as never) });
    const B = contract('B', { a: prefix({}, () => A as never) });
    expect(() => serve(A as never, never)).toThrow("A.b.a: contract 'A' is a prefix of itself and cannot be served");
  });
  test('an implementation that misses an operation', () => {
    const Api = contract('Api', { a: get({}, unit), b: get({}, unit) });
    expect(() => serve(Api, js({ a: async () => {} }))).toThrow("The implementation of 'Api' has no 'b'");
  });

  test('but not: the same contract twice, other methods, other lengths, fixed segments that differ', () => {
    const Twice = contract('Twice', {
      p: prefix({ x: s }, Inner),
      q: prefix({}, Inner),
      r: prefix({}, contract('R', { i: Inner })),
    });
    const service = () => ({ read: async () => {}, other: async () => {} });
    serve(Twice, { p: service, q: service, r: () => ({ i: service }) });
    const nothing = async () => {};
    const Apart = contract('Apart', {
      get: get({}, unit, { path: 'a' }),
      post: post({}, unit, { path: 'a' }),
      any: get({ x: path(s) }, unit, { path: 'a' }),
      postFixed: post({}, unit, { path: 'a/b' }),
      longer: get({ x: path(s), y: path(s) }, unit, { path: 'a' }),
      suffixed: get({ x: path(s, 'c') }, unit, { path: 'b' }),
      fixed: get({}, unit, { path: 'b/x/d' }),
    });
    serve(Apart, {
      get: nothing,
      post: nothing,
      any: nothing,
      postFixed: nothing,
      longer: nothing,
      suffixed: nothing,
      fixed: nothing,
    });
  });
});

test('errors are of their own class', () => {
  expect(() => contract('X', js(named('then', get({}, unit))))).toThrow(ContractDefinitionError);
});

test('clients are plain objects', async () => {
  const client = connect(contract('X', { a: get({}, unit) }), async () => ({
    status: 204,
    headers: [],
    body: { kind: 'empty' },
  }));
  expect(await client).toBe(client);
  expect(Object.keys(client)).toEqual(['a']);
});
