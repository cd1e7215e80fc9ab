import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  type Args,
  body,
  bytes,
  type Client,
  codec,
  codecFor,
  connect,
  contract,
  cookie,
  del,
  field,
  get,
  group,
  header,
  implement,
  jsonArray,
  ndjson,
  param,
  path,
  post,
  prefix,
  put,
  query,
  serve,
  type Service,
  text,
  unit,
  withCodec,
} from '../src/index.js';

const UserId = z.string().min(1).brand<'UserId'>();
const User = z.object({ id: UserId, name: z.string(), born: z.date().optional() });
interface Tree {
  label: string;
  children: Tree[];
}
const Tree: z.ZodType<Tree> = z.object({ label: z.string(), children: z.lazy(() => Tree.array()) });

const AdminApi = contract('AdminApi', {
  ban: post({ id: path(UserId) }, unit),
});
const UserApi = contract('UserApi', {
  createUser: post({ name: field(z.string()), birthYear: field(z.int()) }, z.string()),
  getUser: get({ id: path(UserId), verbose: query(z.boolean()).whenAbsent(false) }, User),
  list: get({ tags: z.array(z.string()).optional(), limit: param(z.int()).optional(10) }, z.array(User)),
  upload: put({ photo: body(bytes('image/png')) }, unit, { path: 'photos' }),
  login: post({ user: field(z.string()) }, z.string(), { form: true }),
  tree: get({}, Tree),
  move: post({ where: group({ x: field(z.int()), y: field(z.int()).optional(0) }), id: path(UserId) }, unit),
  follow: get({}, ndjson(User)),
  as: prefix({ token: header('Authorization', z.string()) }, AdminApi, { path: '' }),
});

const backend = async () => ({ status: 204, headers: [], body: { kind: 'empty' } as const });

test('a server gets outputs, a client gives inputs', () => {
  expectTypeOf<Args<typeof UserApi, 'createUser'>>().toEqualTypeOf<{ name: string; birthYear: number }>();
  expectTypeOf<Args<typeof UserApi, 'getUser'>>().toEqualTypeOf<{ id: z.infer<typeof UserId>; verbose: boolean }>();
  expectTypeOf<Args<typeof UserApi, 'list'>>().toEqualTypeOf<{ limit: number; tags?: string[] | undefined }>();
  expectTypeOf<Args<typeof UserApi, 'move'>['where']>().toEqualTypeOf<{ x: number; y: number }>();
  const client = connect(UserApi, backend);
  expectTypeOf(client).toEqualTypeOf<Client<typeof UserApi>>();
  expectTypeOf(client.getUser).parameter(0).toEqualTypeOf<{ id: string; verbose: boolean }>();
  expectTypeOf(client.getUser).returns.resolves.toEqualTypeOf<z.infer<typeof User>>();
  expectTypeOf(client.tree).returns.resolves.toEqualTypeOf<Tree>();
  expectTypeOf(client.list)
    .parameter(0)
    .toEqualTypeOf<{ tags?: string[] | undefined; limit?: number | undefined } | undefined>();
  expectTypeOf(client.upload).parameter(0).toEqualTypeOf<{ photo: Uint8Array }>();
  expectTypeOf(client.follow).returns.resolves.toEqualTypeOf<AsyncIterable<z.infer<typeof User>>>();
  expectTypeOf(client.as({ token: 't' }).ban).returns.resolves.toEqualTypeOf<void>();
  expectTypeOf(client.move).parameter(0).toEqualTypeOf<{ where: { x: number; y?: number | undefined }; id: string }>();
});

test('the compiler rejects what a method cannot have', () => {
  // @ts-expect-error GET takes no body: 'name' must be path, query or header
  const bodyOnGet = () => get({ name: field(z.string()) }, unit);
  // @ts-expect-error GET takes no body: 'photo' must be path, query or header
  const wholeBodyOnGet = () => get({ photo: body(bytes()) }, unit);
  // @ts-expect-error inside a group too
  const groupedOnGet = () => get({ g: group({ name: field(z.string()) }) }, unit);
  // @ts-expect-error An operation has one body: 'a' is one of several
  const twoBodies = () => post({ a: body(bytes()), b: body(bytes()) }, unit);
  // @ts-expect-error 'b' must be path, query, header or cookie: 'a' is the whole body
  const bodyAndField = () => post({ a: body(bytes()), b: z.string() }, unit);
  // @ts-expect-error A form is made of fields: 'a' cannot be its body
  const bodyInForm = () => post({ a: body(text()) }, unit, { form: true });
  // @ts-expect-error A prefix takes no body: 'a' must be path, query, header or cookie
  const bodyOnPrefix = () => prefix({ a: body(text()) }, AdminApi);
  // @ts-expect-error A prefix takes no body
  const fieldOnPrefix = () => prefix({ a: field(z.string()) }, AdminApi);
  // @ts-expect-error A path parameter is always there: it takes no default
  const defaultOnPath = () => path(z.string()).whenAbsent('x');
  // @ts-expect-error transientDefault needs a default
  const transientWithout = () => query(z.string()).transientDefault();
  // @ts-expect-error the default is not of the parameter's type
  const wrongDefault = () => query(z.boolean()).whenAbsent('no');
  void [bodyOnGet, wholeBodyOnGet, groupedOnGet, twoBodies, bodyAndField, bodyInForm, bodyOnPrefix, fieldOnPrefix];
  void [defaultOnPath, transientWithout, wrongDefault];
});

test('the compiler asks for missing codecs', () => {
  const length = z.string().transform((s) => s.length);
  const mapOf = z.map(z.string(), z.int());
  // @ts-expect-error NeedsCodec: the schema reads one way only
  const transformed = () => contract('X', { a: post({ s: field(length) }, unit) });
  // @ts-expect-error NeedsCodec: a Map is no JSON
  const mapResult = () => contract('X', { a: get({}, mapOf) });
  // @ts-expect-error NeedsCodec: a Map inside is no JSON either
  const deepMap = () => contract('X', { a: get({}, z.object({ deep: z.array(z.object({ m: mapOf })) })) });
  // @ts-expect-error NeedsCodec: an object is no text
  const objectInQuery = () => contract('X', { a: get({ q: query(z.object({ a: z.string() })) }, unit) });
  // @ts-expect-error NeedsCodec: a list is no single header
  const listInHeader = () => contract('X', { a: get({ q: header('X-Q', z.array(z.string())) }, unit) });
  const asJson = codec('json', { encode: (n: number) => n, decode: Number });
  // @ts-expect-error a codec to JSON does not serve a path
  const wrongKind = () => contract('X', { a: get({ p: path(asJson) }, unit) });
  // @ts-expect-error NeedsCodec: neither do the elements of a stream go without
  const mapElements = () => ndjson(mapOf);
  void [transformed, mapResult, deepMap, objectInQuery, listInHeader, wrongKind, mapElements];

  const mapCodec = codec('json', {
    encode: (m: Map<string, number>) => Object.fromEntries(m),
    decode: (json) => new Map(Object.entries(json as Record<string, number>)),
  });
  const Covered = contract(
    'Covered',
    {
      given: post({ m: field(mapOf).via(mapCodec) }, unit),
      own: get({}, withCodec(mapOf, mapCodec)),
      bySet: get({}, mapOf),
      itself: get({}, mapCodec),
      defaulted: post({ a: field(z.string().default('x')) }, unit),
      anything: post({ a: field(z.unknown()), b: field(z.any()) }, z.json()),
      dates: get({ since: query(z.date()), n: query(z.bigint()) }, z.object({ at: z.date(), big: z.bigint() })),
      cookies: get({ c: cookie(z.string()) }, unit),
    },
    { codecs: [codecFor(mapOf, mapCodec)] },
  );
  const client = connect(Covered, backend);
  expectTypeOf(client.given).parameter(0).toEqualTypeOf<{ m: Map<string, number> }>();
  expectTypeOf(client.own).returns.resolves.toEqualTypeOf<Map<string, number>>();
  expectTypeOf(client.bySet).returns.resolves.toEqualTypeOf<Map<string, number>>();
  expectTypeOf(client.defaulted).parameter(0).toEqualTypeOf<{ a?: string | undefined } | undefined>();
});

test('a codec with one direction serves one side', () => {
  const onlyWrites = codec('json', { encode: (n: Map<string, number>) => Object.fromEntries(n) });
  const OneWay = contract('OneWay', { a: post({ m: field(onlyWrites) }, unit) });
  connect(OneWay, backend);
  // @ts-expect-error A server needs 'decode' for 'm' of 'a', whose codec has only 'encode'
  const noServer = () => serve(OneWay, { a: async () => {} });
  const Result = contract('Result', { a: get({}, onlyWrites) });
  serve(Result, { a: async () => new Map() });
  // @ts-expect-error A client needs 'decode' for the result of 'a', whose codec has only 'encode'
  const noClient = () => connect(Result, backend);
  const Elements = contract('Elements', { a: get({}, jsonArray(onlyWrites)) });
  // @ts-expect-error the direction of elements is the direction of the list
  const noElements = () => connect(Elements, backend);
  const Outer = contract('Outer', { inner: Result, p: prefix({}, Result) });
  // @ts-expect-error found behind prefixes too
  const noOuter = () => connect(Outer, backend);
  const viaSet = contract(
    'ViaSet',
    { a: get({}, z.map(z.string(), z.int())) },
    { codecs: [codecFor(z.map(z.string(), z.int()), onlyWrites)] },
  );
  // @ts-expect-error and in codec sets
  const noSet = () => connect(viaSet, backend);
  void [noServer, noClient, noElements, noOuter, noSet];
});

test('the compiler holds implementations against the contract', () => {
  // @ts-expect-error `ban` is missing
  const missing: Service<typeof AdminApi> = {};
  // @ts-expect-error the result is not in the contract
  const wrongResult: Service<typeof UserApi>['createUser'] = async () => 5;
  // @ts-expect-error the wrong type of argument
  const wrongArgument: Service<typeof UserApi>['createUser'] = async ({ name }: { name: number }) => String(name);
  class Admin implements Service<typeof AdminApi> {
    async ban({ id }: Args<typeof AdminApi, 'ban'>): Promise<void> {
      expectTypeOf(id).toEqualTypeOf<z.infer<typeof UserId>>();
    }
  }
  implement(AdminApi, {
    ban: async ({ id }) => expectTypeOf(id).toEqualTypeOf<z.infer<typeof UserId>>() as unknown as void,
  });
  serve(AdminApi, new Admin());
  // @ts-expect-error not everything is there
  const incomplete = () => serve(AdminApi, {});
  void [missing, wrongResult, wrongArgument, incomplete];
});

test('the context of a connection takes arguments off the callers', () => {
  const TenantApi = contract('TenantApi', {
    find: get({ tenant: query(z.string()), id: path(z.string()) }, z.string()),
    drop: del({ tenant: query(z.string()) }, unit),
  });
  const client = connect(TenantApi, backend, { context: { tenant: 'acme' } });
  expectTypeOf(client.find).parameter(0).toEqualTypeOf<{ id: string; tenant?: string | undefined }>();
  expectTypeOf(client.drop).parameter(0).toEqualTypeOf<{ tenant?: string | undefined } | undefined>();
  connect(TenantApi, backend, { context: { tenant: () => 'acme' } });
  // @ts-expect-error a tenant is a string
  connect(TenantApi, backend, { context: { tenant: 5 } });
  // @ts-expect-error no parameter has this name
  connect(TenantApi, backend, { context: { tenent: 'acme' } });
});
