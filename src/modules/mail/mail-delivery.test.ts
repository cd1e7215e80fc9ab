import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeRequest } from '../../../test/support/builders.js';
import { startMailServer, type MailServer } from '../../../test/support/mail-server.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import type { MailEvent } from '../../core/mail/index.js';
import { SettingsFile } from '../../platform/settings/settings.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Wake } from '../../platform/wake/wake.js';
import { DisastersModule } from '../disasters/disasters.module.js';
import { NotificationsModule } from '../users/notifications.module.js';
import { MailDelivery } from './mail-delivery.poller.js';
import { MailModule } from './mail.module.js';
import { MailOutboxRepository } from './mail-outbox.repository.js';

const smtp = {
  host: '127.0.0.1',
  from: 'muster@example.com',
  admins: ['admin@example.com'],
  rateLimitAfterNotifications: 2,
  firstRetryMillis: 30,
  lastRetryMillis: 100,
};

let rooms: RoomApp;
let server: MailServer | undefined;
let port: number;

const open = (more: object = {}): Promise<RoomApp> => {
  const settings = SettingsFile.parse({ smtp: { ...smtp, port, ...more }, checkQueuedMailsEveryMillis: 60_000 });
  return startRooms({ modules: [MailModule, NotificationsModule, DisastersModule], settings });
};
const restart = async (options: Parameters<typeof startMailServer>[0] = {}) => {
  await server?.close();
  server = await startMailServer(options, port);
};
beforeAll(async () => {
  server = await startMailServer();
  ({ port } = server);
  rooms = await open();
}, 60_000);
beforeEach(() => restart());
afterEach(async () => {
  await rooms.app.get(MailDelivery).settled();
  await rooms.database.pool.query('TRUNCATE mail, mail_rate, mail_blacklist, mail_allowlist, disabled_action');
  rooms.app.get(Wake).signal('actions');
});
afterAll(async () => {
  await rooms.close();
  await server?.close();
});

let eventTime = Date.now();
const event = (changes: Partial<MailEvent> = {}): MailEvent => ({
  type: 'REQUEST_UNPAUSED',
  request: makeRequest({ id: 'web', owners: ['owner@example.com'] }),
  at: (eventTime += 1),
  facts: { kind: 'unpaused', message: 'hello' },
  ...changes,
});
async function happen(...events: MailEvent[]): Promise<void> {
  await rooms.database.transaction((tx) => rooms.app.get(MailOutboxRepository).queue(tx, events));
  rooms.app.get(Wake).signal('mails');
}
const rowsOf = (): Promise<{ attempts: number; last_error: string | null; dead_at: Date | null; facts: object }[]> =>
  rooms.database.pool.query('SELECT * FROM mail ORDER BY id');
const drained = () => waitFor('an empty outbox', async () => (await rowsOf()).length === 0);
const notes = () => server!.mails.map(({ text = '' }) => /Message: (.*)/.exec(text)?.[1]);
const about = (id: string, message = 'hello') =>
  event({ request: makeRequest({ id, owners: ['owner@example.com'] }), facts: { kind: 'unpaused', message } });

describe('the outbox', () => {
  test('what is rolled back is not told', async () => {
    const outbox = rooms.app.get(MailOutboxRepository);
    const failing = rooms.database.transaction(async (tx) => {
      await outbox.queue(tx, [event()]);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await rowsOf()).toEqual([]);
  });

  test('without smtp nothing is written, nothing is asked, and no poller runs', async () => {
    const quiet = await startRooms({ modules: [MailModule], settings: SettingsFile.parse({}) });
    try {
      const asked: unknown[] = [];
      const tx = { query: (...all: unknown[]) => void asked.push(all) };
      await quiet.app.get(MailOutboxRepository).queue(tx as never, [event()]);
      expect(asked).toEqual([]);
      const { body } = await quiet.get<string>('/metrics').catch(() => ({ body: '' }));
      expect(body).not.toContain('muster_mails{');
    } finally {
      await quiet.close();
    }
  });

  test('SEND_EMAIL switched off: nothing is queued, nothing that waits is sent; disasters are told all the same', async () => {
    await happen(event());
    await drained();
    await rooms.call('POST', '/api/disasters/disabled-actions/SEND_EMAIL', {});
    expect(await rooms.app.get(DisabledActions).isDisabled('SEND_EMAIL')).toBe(true);
    const facts = { kind: 'disaster', disasters: [{ type: 'LOST_TASKS', active: true }], points: [] } as const;
    await happen(
      event(),
      event({
        type: 'DISASTER_DETECTED',
        request: undefined,
        facts: { ...facts, disasters: [...facts.disasters], points: [] },
      }),
    );
    await drained();
    expect(server!.mails.map(({ type }) => type)).toEqual(['REQUEST_UNPAUSED', 'DISASTER_DETECTED']);
  });
});

describe('recipients', () => {
  test('who unsubscribed gets none, however the address is spelt, also when that was after it was queued', async () => {
    await rooms.call('POST', '/api/notifications/unsubscribe', 'OWNER@example.com');
    await happen(event());
    await drained();
    expect(server!.mails).toEqual([]);
    await rooms.call('POST', '/api/notifications/subscribe', 'owner@example.com');
    await happen(event());
    await drained();
    expect(server!.mails.map(({ recipients }) => recipients)).toEqual([['owner@example.com', 'admin@example.com']]);
  });

  test('texts of callers get into no header and into no markup', async () => {
    const nasty = 'x\r\nBcc: evil@example.com\r\n\r\n<img src=x onerror=alert(1)>\u202e';
    await happen(
      event({
        request: makeRequest({
          id: nasty,
          owners: [
            'owner@example.com',
            'a@b>\r\nRCPT TO:<evil@example.com',
            'two@example.com,three@example.com',
            'none',
          ],
        }),
        user: nasty,
        facts: { kind: 'unpaused', message: nasty },
      }),
    );
    await drained();
    const [mail] = server!.mails;
    expect(mail!.recipients).toEqual(['owner@example.com', 'admin@example.com']);
    expect([...mail!.headers.keys()]).not.toContain('bcc');
    expect(mail!.subject).not.toMatch(/[\r\n]/);
    expect(mail!.html).not.toContain('<img');
    expect(mail!.html).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(mail!.html).not.toContain('\u202e');
  });
});

describe('too many', () => {
  test('the one too many is a notice, and none follow until it is over', async () => {
    await happen(about('web', '1'), about('web', '2'), about('web', '3'), about('web', '4'), about('other', '5'));
    await drained();
    expect(server!.mails.map(({ subject }) => subject).toSorted()).toEqual([
      'REQUEST_UNPAUSED mails for web are limited – Muster',
      'Request other was unpaused – Muster',
      'Request web was unpaused – Muster',
      'Request web was unpaused – Muster',
    ]);
    const notice = server!.mails.find(({ subject = '' }) => subject.includes('limited'))!;
    expect(notice.text).toMatch(/Mails allowed: 2\nWithin: 10 minutes\nNone are sent for: 1 hour\n/);
    expect(notice.recipients).toEqual(['owner@example.com', 'admin@example.com']);
    await happen(about('web', '6'));
    expect(await rowsOf()).toEqual([]);
    await rooms.database.pool.query('UPDATE mail_rate SET limited_until = $1', [new Date(eventTime)]);
    eventTime += 600_000;
    await happen(about('web', '7'));
    await drained();
    expect(notes()).toContain('7');
    eventTime -= 600_000;
  });
});

describe('a mail server', () => {
  test('that is away: the mail waits, its id stays the same, and it comes when the server is back', async () => {
    await server!.close();
    await happen(about('web', 'late'), about('other', 'late'));
    await waitFor('an attempt', async () => (await rowsOf()).some(({ attempts }) => attempts > 1));
    expect((await rowsOf())[0]).toMatchObject({ last_error: expect.stringContaining('ECONNREFUSED'), dead_at: null });
    server = await startMailServer({}, port);
    await drained();
    expect(notes()).toEqual(['late', 'late']);
  });

  test('that refuses one mail for good: it is given up, and the others go', async () => {
    await restart({
      onRcptTo: ({ address }, _session, done) =>
        done(address === 'bad@example.com' ? Object.assign(new Error('no such user'), { responseCode: 550 }) : null),
    });
    const bad = event({
      request: makeRequest({
        id: 'bad',
        owners: ['bad@example.com'],
        emailConfigurationOverrides: { REQUEST_UNPAUSED: ['OWNERS'] },
      }),
    });
    await happen(bad, about('good'));
    await waitFor('the end', async () => (await rowsOf()).length === 1 && (await rowsOf())[0]!.dead_at !== null);
    expect((await rowsOf())[0]!.last_error).toContain('no such user');
    expect(server!.mails).toHaveLength(1);
    // As docs/mail.md says.
    await restart();
    await rooms.database.pool.query(
      'UPDATE mail SET dead_at = NULL, attempts = 0, next_attempt_at = now(), event_at = now()',
    );
    rooms.app.get(Wake).signal('mails');
    await drained();
    expect(server!.mails.map(({ recipients }) => recipients)).toEqual([['bad@example.com']]);
  });

  test('that takes one recipient later: only that one gets it again, under the same id', async () => {
    let refusals = 0;
    await restart({
      onRcptTo: ({ address }, _session, done) =>
        done(
          address === 'admin@example.com' && refusals++ < 1
            ? Object.assign(new Error('busy'), { responseCode: 450 })
            : null,
        ),
    });
    await happen(event());
    await drained();
    expect(server!.mails.map(({ recipients }) => recipients)).toEqual([['owner@example.com'], ['admin@example.com']]);
    expect(new Set(server!.mails.map(({ messageId }) => messageId)).size).toBe(1);
  });
});

describe('a mail server', () => {
  let usual: RoomApp;
  beforeAll(async () => {
    usual = rooms;
    rooms = await open({ connectTimeoutMillis: 300, sendTimeoutMillis: 500 });
  });
  afterAll(async () => {
    await rooms.close();
    rooms = usual;
  });

  test.each([
    ['says nothing', (socket: Socket) => void socket],
    ['talks for ever', (socket: Socket) => void drip(socket, '220-wait\r\n')],
    ['sends garbage without end', (socket: Socket) => void flood(socket)],
    ['refuses everyone', (socket: Socket) => void socket.end('554 no service\r\n')],
    [
      'answers each word so late that no mail is sent in its time',
      (socket: Socket) => {
        const later = (text: string) => void setTimeout(() => socket.destroyed || socket.write(text), 300);
        later('220 hi\r\n');
        socket.on('data', () => later('250 ok\r\n'));
      },
    ],
    ['drops the connection', (socket: Socket) => void socket.destroy()],
    [
      'drops it in the middle of a mail',
      (socket: Socket) => {
        socket.write('220 hi\r\n');
        socket.on('data', (data: Buffer) =>
          String(data).startsWith('DATA') ? socket.destroy() : socket.write('250 ok\r\n'),
        );
      },
    ],
  ])('that %s holds a bounded number of connections for a bounded time', async (_what, behave) => {
    await server!.close();
    const sockets = new Set<Socket>();
    let most = 0;
    let total = 0;
    const bad = await listen((socket) => {
      sockets.add(socket);
      total += 1;
      most = Math.max(most, sockets.size);
      socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
      // Read, so that its end is seen.
      socket.resume();
      behave(socket);
    });
    await happen(...Array.from({ length: 10 }, (_, index) => about(`r${index}`, `m${index}`)));
    await waitFor(
      'attempts',
      async () => (await rowsOf()).filter(({ attempts }) => attempts > 0).length > 1 && total > 4,
    );
    expect(most).toBeLessThanOrEqual(3);
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => bad.close(resolve));
    server = await startMailServer({}, port);
    await drained();
    // One whose answer came after the time limit is sent again, under its id.
    const sent = new Map(server.mails.map(({ messageId, text = '' }) => [messageId, text]));
    const told = [...sent.values()].map((text) => /Message: (.*)/.exec(text)?.[1]);
    expect(told.toSorted()).toEqual(Array.from({ length: 10 }, (_, index) => `m${index}`));
  });
});

const drip = (socket: Socket, line: string) => {
  const timer = setInterval(() => socket.write(line), 20);
  socket.on('close', () => clearInterval(timer));
};
const flood = (socket: Socket) => {
  const more = () => {
    while (!socket.destroyed && socket.write(Buffer.alloc(16_384, 'x')));
  };
  socket.on('drain', more);
  more();
};
const listen = (serve: (socket: Socket) => void): Promise<Server> =>
  new Promise((resolve) => {
    const bad = createServer(serve);
    bad.listen(port, '127.0.0.1', () => resolve(bad));
  });
