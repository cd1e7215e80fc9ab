import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aboutShop, EveryOperation, operationIn, reached } from '../support/auth/every-operation.js';
import { letThrough } from '../support/auth/guarded-app.js';

/* A service below a context path: it is no way past what guards its operations. */

const context = '/singularity';
let stage: EveryOperation;
beforeAll(async () => {
  stage = await EveryOperation.start({ http: { contextPath: context } });
});
afterAll(() => stage.close());

const json = { 'content-type': 'application/json' };
const asAdmin = () => ({ ...json, authorization: `Token ${stage.tokens.admin}` });
const bodyOf = (method: string) => (method === 'GET' ? undefined : aboutShop);

test('every operation is found below it, by those who may, and by no other', async () => {
  expect(stage.operations.length).toBeGreaterThan(150);
  for (const { name, method, path } of stage.operations) {
    const [open, closed] = [asAdmin(), json];
    const answer = await stage.raw.call(context + path, { method, headers: open, body: bodyOf(method) });
    expect([name, answer.status, operationIn(answer)]).toEqual([name, letThrough, name]);
    const refused = await stage.raw.call(context + path, { method, headers: closed, body: bodyOf(method) });
    expect([name, refused.status]).toEqual([name, 401]);
  }
});

test('outside of it there is nothing but what watches the instance, which is guarded as below it', async () => {
  for (const { name, method, path } of stage.operations) {
    const answer = await stage.raw.call(path, { method, headers: asAdmin(), body: bodyOf(method) });
    const expected = path === '/metrics' ? letThrough : 404;
    expect([name, answer.status]).toEqual([name, expected]);
  }
  expect((await stage.raw.call('/metrics')).status).toBe(401);
  for (const open of ['/docs', '/docs/openapi.json', '/ui', '/static/app.js', '/guide', '/guide/']) {
    expect([open, (await stage.raw.call(open)).status]).toEqual([open, 404]);
  }
  for (const open of ['/', '/healthz', '/readyz']) {
    expect([open, (await stage.raw.call(open)).status]).toEqual([open, letThrough]);
  }
});

const once = (from: string, to: string) => (path: string) => path.replace(from, to);
/** Ways to write a path below the context path that some servers take for it. */
const disguises: ((path: string) => string)[] = [
  once('/singularity', '//singularity'),
  once('/singularity', '/./singularity'),
  once('/singularity', '/x/../singularity'),
  once('/singularity', '/healthz/../singularity'),
  once('/singularity', '/%2e/singularity'),
  once('/singularity', '/Singularity'),
  once('/singularity', '/%73ingularity'),
  once('/singularity', '/%2573ingularity'),
  once('/singularity', '%2fsingularity'),
  once('/singularity', '\\singularity'),
  once('/singularity', '/singularity/singularity'),
  once('/singularity', '/singularity;a=b'),
  once('/singularity', '/singularity%20'),
  once('/singularity', '/singularity%00'),
  once('/singularity', '/singularit'),
  once('/singularity', '/singularityx'),
  once('/singularity', '/singularity#'),
  once('/singularity', '/healthz'),
  once('/singularity', '/metrics'),
  once('/singularity', '/metrics/..'),
  once('/singularity/', '/singularity//'),
  once('/singularity/', '/singularity/./'),
  once('/singularity/', '/singularity/x/../'),
  once('/singularity/', '/singularity/%2e%2e/'),
  once('/singularity/', '/singularity%2f'),
  once('/singularity/', '/singularity%252f'),
  once('/singularity/', '/singularity\\'),
  once('/singularity/', '/singularity%5c'),
  once('/singularity/', '/singularity/healthz/../'),
  once('/singularity/', '/singularity/http://127.0.0.1/'),
  once('/singularity/', '/singularity//127.0.0.1/'),
];
/** A proxy may be called by a whole address: that is the path itself, with what guards it. */
const wholeAddresses = ['http://127.0.0.1', 'HTTP://localhost:1', 'https://evil.example', 'http://a@127.0.0.1'];

describe('a path written otherwise', () => {
  test.each(disguises.map((disguise) => [disguise('/singularity/api'), disguise] as const))(
    '%s is no path at all, also with all rights',
    async (_shown, disguise) => {
      for (const { name, method, path } of stage.operations.filter((_one, index) => index % 12 === 0)) {
        const written = disguise(context + path);
        const answer = await stage.raw.call(written, { method, headers: asAdmin(), body: bodyOf(method) });
        expect([400, 404], `${name} as ${written}: ${answer.status}`).toContain(answer.status);
      }
    },
  );

  test.each(wholeAddresses)('as a whole address, of %s, leads to nothing without credentials', async (address) => {
    for (const { name, method, path } of stage.operations) {
      const below = await stage.raw.call(address + context + path, { method });
      expect(reached(below), name).toBeUndefined();
      const outside = await stage.raw.call(address + path, { method });
      expect(reached(outside), name).toBeUndefined();
    }
  });
});
