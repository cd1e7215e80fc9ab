import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EveryOperation, reached } from '../support/auth/every-operation.js';
import { letThrough } from '../support/auth/guarded-app.js';

let stage: EveryOperation;
beforeAll(async () => {
  stage = await EveryOperation.start();
});
afterAll(() => stage.close());

describe('a header makes no caller:', () => {
  const addresses = ['127.0.0.1', '::1', 'localhost', '10.0.0.1'];
  const addressHeaders = [
    'X-Forwarded-For',
    'X-Real-IP',
    'X-Client-IP',
    'True-Client-IP',
    'CF-Connecting-IP',
    'X-Originating-IP',
    'X-Remote-Addr',
    'X-Forwarded-Host',
  ];
  const nameHeaders = [
    'X-Username',
    'X-User',
    'X-Remote-User',
    'Remote-User',
    'X-Forwarded-User',
    'X-Forwarded-Email',
    'X-Forwarded-Groups',
    'X-Auth-Request-User',
    'X-WEBAUTH-USER',
    'X-SSL-Client-CN',
    'X-Client-Verify',
    'From',
  ];
  test.each(addresses)('not one that says it comes from %s', async (address) => {
    const headers: Record<string, string> = { Forwarded: `for="${address}";proto=https;by=${address}` };
    for (const name of addressHeaders) headers[name] = address;
    for (const name of nameHeaders) headers[name] = 'admin';
    for (const { name, method, path } of stage.operations) {
      const answer = await stage.raw.call(`${path}?user=admin&username=admin`, { method, headers });
      expect(reached(answer), name).toBeUndefined();
    }
  });

  test('nor does it change who a caller is', async () => {
    const headers: Record<string, string> = { authorization: `Token ${stage.tokens.reader}` };
    for (const name of nameHeaders) headers[name] = 'admin';
    const answer = await stage.raw.call('/api/requests/request/shop?user=admin', { method: 'DELETE', headers });
    expect(answer.status).toBe(403);
    expect(answer.body).toContain("'reader'");
  });
});

describe('a header Authorization', () => {
  const made = (): string => stage.tokens.admin;
  test.each<[string, () => string | string[]]>([
    ['that is empty', () => ''],
    ['of a scheme alone', () => 'Token'],
    ['of a scheme and a blank', () => 'Token '],
    ['of words for nothing', () => 'Token null'],
    ['of another word for nothing', () => 'Token undefined'],
    ['with what prototypes have', () => 'Token __proto__'],
    ['with another member of prototypes', () => 'Token constructor'],
    ['with an object in it', () => 'Token [object Object]'],
    ['with SQL', () => "Token ' OR '1'='1"],
    ['with a wildcard', () => 'Token %'],
    ['with a star', () => 'Token *'],
    ['with JSON', () => 'Token {"token":{"$ne":null}}'],
    ['of 8,000 letters', () => `Token ${'a'.repeat(8_000)}`],
    ['of bytes that are no ASCII', () => 'Token \u00ff\u00fe\u0080'],
    ['of another scheme', () => `Basic ${Buffer.from(`admin:${made()}`).toString('base64')}`],
    ['of a scheme for other tokens', () => `Bearer ${made()}`],
    ['of a scheme that begins alike', () => `Tokens ${made()}`],
    ['without a scheme', () => made()],
    ['with another sign behind the scheme', () => `Token=${made()}`],
    ['with a colon', () => `Token: ${made()}`],
    ['with quotes', () => `Token "${made()}"`],
    ['with a token cut short', () => `Token ${made().slice(0, -1)}`],
    ['with a token made longer', () => `Token ${made()}a`],
    ['with a token in other letters', () => `Token ${made().toUpperCase().replace(/^(.)/, 'Z')}`],
    ['with two tokens', () => `Token ${made()} ${made()}`],
    ['with a list of tokens', () => `Token x, Token ${made()}`],
    ['given twice, the second one right', () => ['Token x', `Token ${made()}`]],
    ['with an encoded token', () => `Token %${made().charCodeAt(0).toString(16)}${made().slice(1)}`],
  ])('%s identifies no caller', async (_what, value) => {
    const answer = await stage.raw.call('/api/state', { headers: { authorization: value() } });
    expect(answer.status).toBe(401);
    expect(answer.body).not.toContain(made());
  });

  test('is the only place of a token: not the query, not another header', async () => {
    const token = stage.tokens.admin;
    const query = `?token=${token}&access_token=${token}&Authorization=Token%20${token}&authorization=${token}`;
    const headers = {
      'Proxy-Authorization': `Token ${token}`,
      'X-Auth-Token': token,
      'X-Authorization': `Token ${token}`,
      'X-Api-Key': token,
    };
    expect((await stage.raw.call(`/api/state${query}`, { headers })).status).toBe(401);
    expect((await stage.raw.call('/api/state', { headers: { authorization: `Token ${token}` } })).status).toBe(
      letThrough,
    );
  });
});

test('how long a wrong token takes does not tell how much of it is right', async () => {
  const right = stage.tokens.admin;
  const wrong = {
    nearly: () => `${right.slice(0, -1)}${right.endsWith('0') ? '1' : '0'}`,
    notAtAll: () => right.replaceAll(/[0-9a-z]/gi, (letter) => (letter === '7' ? '3' : '7')),
  };
  const millis: Record<keyof typeof wrong, number[]> = { nearly: [], notAtAll: [] };
  // In turns, so that whatever else keeps the machine busy does so for both.
  for (let turn = 0; turn < 100; turn++) {
    for (const kind of ['nearly', 'notAtAll'] as const) {
      const begun = performance.now();
      const answer = await stage.raw.call('/api/state', { headers: { authorization: `Token ${wrong[kind]()}` } });
      millis[kind].push(performance.now() - begun);
      expect(answer.status).toBe(401);
    }
  }
  const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length / 2]!;
  const ratio = median(millis.nearly) / median(millis.notAtAll);
  // To look into hashes of what looks right, or to compare letter by letter over the network, would be far outside.
  expect(ratio).toBeGreaterThan(0.5);
  expect(ratio).toBeLessThan(2);
});
