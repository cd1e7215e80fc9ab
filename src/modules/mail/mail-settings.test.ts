import { afterEach, beforeEach, expect, test } from 'vitest';
import { insertDeploy, insertRequest, insertTask, makeRequest } from '../../../test/support/builders.js';
import { startMailServer, type MailServer } from '../../../test/support/mail-server.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import type { MailEvent } from '../../core/mail/index.js';
import { SettingsFile } from '../../platform/settings/settings.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { NotificationsModule } from '../users/notifications.module.js';
import { MailDelivery } from './mail-delivery.poller.js';
import { MailModule } from './mail.module.js';
import { MailOutboxRepository } from './mail-outbox.repository.js';

/* What settings of mail change, each on rooms of its own. */

const hour = 3_600_000;
const minute = 60_000;
let rooms: RoomApp;
let server: MailServer;

beforeEach(async () => void (server = await startMailServer()));
afterEach(async () => {
  await rooms.close();
  await server.close();
});

async function start(smtp: object = {}, more: object = {}): Promise<void> {
  const { port } = server;
  const settings = SettingsFile.parse({
    smtp: {
      host: '127.0.0.1',
      port,
      from: 'muster@example.com',
      admins: ['admin@example.com'],
      rateLimitAfterNotifications: 0,
      firstRetryMillis: 3 * hour,
      lastRetryMillis: 3 * hour,
      ...smtp,
    },
    checkQueuedMailsEveryMillis: 3_600_000,
    ...more,
  });
  rooms = await startRooms({ modules: [MailModule, NotificationsModule, MetricsModule], settings });
}

const unpaused = (id: string, at = Date.now()): MailEvent => ({
  type: 'REQUEST_UNPAUSED',
  request: makeRequest({ id, owners: ['owner@example.com'] }),
  at,
  facts: { kind: 'unpaused' },
});
const happen = (...events: MailEvent[]) =>
  rooms.database.transaction((tx) => rooms.app.get(MailOutboxRepository).queue(tx, events));
/** The cleaner looks for mails that are too old or too many once in a minute, the first time at the start. */
const nextClean = () => Date.now() + 2 * minute;
/** A pass at that time, and the end of what it has begun. */
async function pass(at = Date.now()): Promise<void> {
  await rooms.app.get(MailDelivery).runOnce(at);
  await rooms.app.get(MailDelivery).settled();
}
const waiting = (): Promise<{ request_id: string; last_error: string | null; is_dead: boolean }[]> =>
  rooms.database.pool.query(
    'SELECT request_id, last_error, dead_at IS NOT NULL AS is_dead FROM mail ORDER BY event_at',
  );
const figures = async (): Promise<Record<string, number>> => {
  const { body } = await rooms.get<string>('/metrics');
  const lines = [...body.matchAll(/^(muster_(?:oldest_)?mails?\S*) (\S+)$/gm)];
  return Object.fromEntries(lines.map(([, name, value]) => [name!, Number(value)]));
};

test('optInEmailMode: only those that subscribed get mail, until they take it back', async () => {
  await start({ optInEmailMode: true });
  await happen(unpaused('nobody-wants-it'));
  await pass();
  expect([server.mails, await waiting()]).toEqual([[], []]);
  await rooms.call('POST', '/api/notifications/subscribe', 'OWNER@example.com');
  await happen(unpaused('wanted'));
  await pass();
  expect(server.mails.map(({ recipients }) => recipients)).toEqual([['owner@example.com']]);
  await rooms.call('POST', '/api/notifications/unsubscribe', 'owner@example.com');
  await happen(unpaused('not-any-more'));
  await pass();
  expect(server.mails).toHaveLength(1);
});

test('a mail about an end waits for its notes, and goes at once when there is the one that is named', async () => {
  const taskMetadata = {
    sendTaskCompletedMailOnceMetadataTypeIsAvailable: 'report',
    waitToSendTaskCompletedMailBufferMillis: hour,
  };
  await start({}, { taskMetadata });
  const { pool } = rooms.database;
  await insertRequest(pool);
  await insertDeploy(pool);
  const end = async (instanceNo: number) => {
    const { id } = await insertTask(pool, { instanceNo });
    const request = makeRequest({ id: 'web', owners: ['owner@example.com'] });
    const facts = { kind: 'task-ended', state: 'TASK_FAILED', next: 'nothing', retriesLeft: 0 } as const;
    await happen({ type: 'TASK_FAILED', request, taskId: id, at: Date.now(), facts });
    return id;
  };
  const note = (taskId: string, type: string) =>
    pool.query(
      `INSERT INTO task_metadata (task_id, type, at, title, message, level) VALUES ($1, $2, now(), 'Title of it', 'Words of it', 'INFO')`,
      [taskId, type],
    );
  const [noted, other] = [await end(1), await end(2)];
  await pass();
  await note(noted, 'something-else');
  await pass();
  expect([server.mails.length, (await waiting()).length]).toEqual([0, 2]);
  await note(noted, 'report');
  await pass();
  expect(server.mails.map(({ subject }) => subject)).toEqual([expect.stringContaining(noted)]);
  expect(server.mails[0]!.text).toContain('report');
  expect(server.mails[0]!.text).toContain('Words of it');
  // The other one has none, and goes when its time is over.
  await pass(Date.now() + hour - minute);
  expect(server.mails).toHaveLength(1);
  await pass(Date.now() + hour + minute);
  expect(server.mails[1]!.subject).toContain(other);
});

test('maxWaitingMails: of more than that the oldest are given up, and the figures tell', async () => {
  await server.close();
  await start({ maxWaitingMails: 3, connectTimeoutMillis: 500 });
  await happen(...['a', 'b', 'c', 'd', 'e'].map((id, index) => unpaused(id, Date.now() - minute + index)));
  await pass(nextClean());
  expect((await waiting()).map(({ request_id: id, is_dead: isDead }) => [id, isDead])).toEqual([
    ['a', true],
    ['b', true],
    ['c', false],
    ['d', false],
    ['e', false],
  ]);
  expect((await waiting())[0]!.last_error).toBe('too many are waiting');
  const { muster_oldest_mail_seconds: age, ...counts } = await figures();
  expect(counts).toEqual({
    'muster_mails{what="waiting"}': 3,
    'muster_mails{what="dead"}': 2,
    muster_mails_sent_total: 0,
    // The one that finds out about the server.
    muster_mail_attempts_failed_total: expect.any(Number) as number,
    muster_mails_given_up_total: 2,
  });
  expect(counts['muster_mail_attempts_failed_total']).toBeGreaterThan(0);
  expect(age).toBeGreaterThan(0);
  server = await startMailServer({}, server.port);
  await pass(Date.now() + 4 * hour);
  await pass(Date.now() + 8 * hour);
  await waitFor('the others', () => server.mails.length === 3);
});

test('giveUpAfterHours: what is about something older is given up, whatever the server does', async () => {
  await start({ giveUpAfterHours: 2, deleteGivenUpAfterHours: 1 });
  await happen(unpaused('old', Date.now() - 2 * hour - minute), unpaused('new', Date.now() - 2 * hour + 10 * minute));
  await pass(nextClean());
  expect(await waiting()).toEqual([{ request_id: 'old', last_error: 'too old', is_dead: true }]);
  expect(server.mails.map(({ subject }) => subject)).toEqual(['Request new was unpaused – Muster']);
  expect(await figures()).toMatchObject({
    'muster_mails{what="waiting"}': 0,
    'muster_mails{what="dead"}': 1,
    muster_oldest_mail_seconds: 0,
    muster_mails_sent_total: 1,
    muster_mails_given_up_total: 1,
  });
  // Kept for an hour, so that it can be looked at.
  await pass(nextClean() + hour + 2 * minute);
  expect(await waiting()).toEqual([]);
});
