import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { NotificationsModule } from './notifications.module.js';

let rooms: RoomApp;
beforeAll(async () => {
  rooms = await startRooms({ modules: [NotificationsModule] });
});
afterAll(() => rooms.close());
beforeEach(() => rooms.database.pool.query('TRUNCATE mail_blacklist, mail_allowlist'));

const blacklist = async () => (await rooms.get('/api/notifications/blacklist')).body;
async function send(what: 'subscribe' | 'unsubscribe', body: string | undefined, type?: string) {
  const response = await fetch(`${rooms.url}/api/notifications/${what}`, {
    method: 'POST',
    headers: type === undefined ? {} : { 'Content-Type': type },
    body: body === undefined ? undefined : Buffer.from(body),
  });
  return { status: response.status, text: await response.text() };
}

test('who unsubscribes is on the blacklist until they subscribe again; both may be repeated', async () => {
  expect(await blacklist()).toEqual([]);
  for (const address of ['zoe@example.com', 'Adam@example.com', 'zoe@example.com']) {
    expect(await send('unsubscribe', address, 'text/plain')).toEqual({ status: 204, text: '' });
  }
  expect(await blacklist()).toEqual(['Adam@example.com', 'zoe@example.com']);
  for (let time = 0; time < 2; time++) {
    expect(await send('subscribe', 'zoe@example.com', 'text/plain')).toEqual({ status: 204, text: '' });
    expect(await blacklist()).toEqual(['Adam@example.com']);
  }
});

test('who subscribes is on the allowlist until they unsubscribe, and on no more than one of the lists', async () => {
  const lists = async () => {
    const [black, block, allow] = await Promise.all(
      ['blacklist', 'blocklist', 'allowlist'].map(async (list) => (await rooms.get(`/api/notifications/${list}`)).body),
    );
    expect(block).toEqual(black);
    return [black, allow];
  };
  await send('subscribe', 'zoe@example.com', 'text/plain');
  await send('subscribe', 'ZOE@example.com', 'text/plain');
  await send('unsubscribe', 'adam@example.com', 'text/plain');
  expect(await lists()).toEqual([['adam@example.com'], ['zoe@example.com']]);
  await send('unsubscribe', 'Zoe@Example.com', 'text/plain');
  await send('subscribe', 'adam@example.com', 'text/plain');
  expect(await lists()).toEqual([['Zoe@Example.com'], ['adam@example.com']]);
});

test('an address is taken off in whatever letters it was put on', async () => {
  await send('unsubscribe', 'Adam@Example.com', 'text/plain');
  await send('subscribe', 'adam@example.COM', 'text/plain');
  expect(await blacklist()).toEqual([]);
});

describe('the address may come as', () => {
  test.each([
    { name: 'plain text', body: 'me@example.com', type: 'text/plain; charset=utf-8' },
    { name: 'plain text in double quotes', body: '"me@example.com"', type: 'text/plain' },
    { name: 'a JSON string', body: '"me@example.com"', type: 'application/json' },
    { name: 'bare text that calls itself JSON', body: 'me@example.com', type: 'application/json' },
    { name: 'what curl sends by default', body: 'me@example.com', type: 'application/x-www-form-urlencoded' },
    { name: 'text of no stated type', body: 'me@example.com\n', type: undefined },
    { name: 'what curl calls a form', body: 'me@example.com', type: 'application/x-www-form-urlencoded' },
    { name: 'a form, encoded', body: 'me%40example.com', type: 'application/x-www-form-urlencoded; charset=UTF-8' },
  ])('$name', async ({ body, type }) => {
    expect((await send('unsubscribe', body, type)).status).toBe(204);
    expect(await blacklist()).toEqual(['me@example.com']);
  });
});

describe('400 for', () => {
  test.each([
    { name: 'no body', body: undefined },
    { name: 'empty quotes', body: '""' },
    { name: 'an object', body: '{"address":"me@example.com"}' },
    { name: 'text that is no address', body: 'me' },
    { name: 'two addresses', body: 'me@example.com you@example.com' },
    { name: 'a character that cannot be stored', body: 'me\0@example.com' },
    { name: 'an endless address', body: `${'m'.repeat(320)}@example.com` },
  ])('$name', async ({ body }) => {
    const { status, text } = await send('unsubscribe', body, 'text/plain');
    expect([status, JSON.parse(text)]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
    expect(await blacklist()).toEqual([]);
  });
});

test('a plus sign is kept, whatever the text is called', async () => {
  await send('unsubscribe', 'me+you@example.com', 'application/x-www-form-urlencoded');
  expect(await blacklist()).toEqual(['me+you@example.com']);
});

describe('415 for', () => {
  const form = 'application/x-www-form-urlencoded';
  test.each([
    { name: 'any other type', body: '<a>', type: 'application/xml' },
    { name: 'a form with a field', body: 'address=me%40example.com', type: form },
    { name: 'a form with a field without a name', body: '=me@example.com', type: form },
    { name: 'a form of fields without values', body: 'me@example.com&you@example.com', type: form },
    { name: 'a field named like an address', body: 'me@example.com=', type: form },
    { name: 'a form with files', body: 'me@example.com', type: 'multipart/form-data; boundary=x' },
  ])('$name', async ({ body, type }) => {
    expect((await send('unsubscribe', body, type)).status).toBe(415);
    expect(await blacklist()).toEqual([]);
  });
});
