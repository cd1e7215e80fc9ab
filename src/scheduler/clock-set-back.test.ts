import { Module } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { makeRequest } from '../../test/support/builders.js';
import { startReceiver } from '../../test/support/http-receiver.js';
import { startRooms, type RoomApp } from '../../test/support/room-app.js';
import { testSettings } from '../../test/support/test-settings.js';
import { waitFor } from '../../test/support/wait-for.js';
import { WebhookDelivery } from '../modules/webhooks/webhook-delivery.poller.js';
import { WebhookOutboxRepository } from '../modules/webhooks/webhook-outbox.repository.js';
import { WebhooksModule } from '../modules/webhooks/webhooks.module.js';
import { Clock } from '../platform/clock.js';
import { ClockSetBack } from './clock-set-back.service.js';

const tenMinutes = 600_000;
/** For how long a disaster switches an action off. */
const switchedOff = `${testSettings().disasterDetection.defaultDisabledActionExpiration} * interval '1 ms'`;
const now = Date.UTC(2026, 0, 5, 12);

/** Clock of the database, which all instances follow. */
class SetClock extends Clock {
  aheadMillis = 0;
  override now = () => now + this.aheadMillis;
}

@Module({ providers: [ClockSetBack] })
class SetBackModule {}

const clock = new SetClock();
let rooms: RoomApp;
beforeAll(async () => {
  const settings = { checkWebhooksEveryMillis: 60_000 };
  rooms = await startRooms({ modules: [WebhooksModule, SetBackModule], settings, clock });
});
afterAll(() => rooms.close());
afterEach(() => void (clock.aheadMillis = 0));

const sql = <Row>(text: string, values: unknown[] = []): Promise<Row[]> => rooms.database.pool.query(text, values);
const setBack = () => rooms.app.get(ClockSetBack).runOnce(clock.now());

test('webhooks that failed, and events queued, while the clock was ten minutes ahead are delivered when it is back', async () => {
  const receiver = await startReceiver();
  const delivery = rooms.app.get(WebhookDelivery);
  const tell = (id: string) =>
    rooms.database.transaction((tx) =>
      rooms.app
        .get(WebhookOutboxRepository)
        .request(tx, { request: makeRequest({ id }), createdAt: clock.now(), eventType: 'UPDATED', message: id }),
    );
  await rooms.call('POST', '/api/webhooks', { uri: `${receiver.url}/hook`, type: 'REQUEST' });
  clock.aheadMillis = tenMinutes;
  receiver.answer = 500;
  await tell('failed');
  await delivery.runOnce(clock.now());
  await delivery.settled();
  await tell('queued');
  clock.aheadMillis = 0;
  receiver.answer = 200;
  await tell('after');
  const before = receiver.calls.length;
  await setBack();
  await waitFor('all to be delivered', async () => {
    await delivery.runOnce(clock.now());
    await delivery.settled();
    return (await sql('SELECT 1 FROM webhook_update')).length === 0;
  });
  expect(receiver.calls.length).toBe(before + 3);
  await receiver.close();
});

describe('what was written while the clock was ten minutes ahead waits no longer than if it were written now', () => {
  const ahead = new Date(now + tenMinutes);
  const later = new Date(now + tenMinutes + 30_000);
  test.each([
    {
      what: 'a mail that was put off',
      insert: `INSERT INTO mail (mail_type, event_at, queued_at, audience, facts, stage, attempts, next_attempt_at, waits_since)
        VALUES ('TASK_LOST', '2026-01-01', '2026-01-01', '{}', '{}', 'MAIL', 1, $2, $1)`,
      due: 'SELECT next_attempt_at AS at FROM mail',
    },
    {
      what: 'a mail that was queued',
      insert: `INSERT INTO mail (mail_type, event_at, queued_at, audience, facts, stage, attempts, next_attempt_at)
        VALUES ('TASK_LOST', $1, $1, '{}', '{}', 'NEW', 0, $2)`,
      due: `SELECT next_attempt_at AS at FROM mail WHERE stage = 'NEW'`,
    },
    {
      what: 'a status update that is held',
      insert: `INSERT INTO held_status_update (task_id, held_at, attempts, next_attempt_at, last_error, document)
        VALUES ('t', $1, 0, $2, '', '{}')`,
      due: 'SELECT next_attempt_at AS at FROM held_status_update',
    },
    {
      what: 'a change that lapses',
      insert: `INSERT INTO expiring_action (kind, target_id, started_at, duration_millis, action_id, document, revert)
        VALUES ('PAUSE', 'web', $1, extract(epoch FROM $2::timestamptz - $1::timestamptz)::bigint, 'a', '{}', '{}')`,
      due: 'SELECT started_at AS at FROM expiring_action',
    },
    {
      what: 'a step of a deploy',
      insert: `INSERT INTO pending_deploy (request_id, deploy_id, state, progress)
        VALUES ('web', 'd', 'WAITING', jsonb_build_object('timestamp', (extract(epoch FROM $1::timestamptz) * 1000)::bigint, 'until', $2::text))`,
      due: `SELECT to_timestamp((progress->>'timestamp')::float8 / 1000) AS at FROM pending_deploy`,
    },
    {
      what: 'a task that was started',
      insert: `INSERT INTO task (task_id, request_id, deploy_id, slave_id, instance_no, host, rack_id, started_at, pending_type, cpus,
          memory_mb, disk_mb, ports, incarnation, state, state_at)
        SELECT 't', 'web', 'd', 's', 1, 'h', 'r', at, 'IMMEDIATE', 1, 1, 1, '{}', 'i', 'TASK_LAUNCHED', at
        FROM (SELECT $1::timestamptz AS at, $2::timestamptz) AS given`,
      due: 'SELECT counts_since AS at FROM task',
    },
    {
      what: 'a kill that was sent',
      insert: `INSERT INTO killed_task (task_id, request_id, killed_at, first_killed_at) VALUES ('t', 'web', $2, $1)`,
      due: `SELECT killed_at AS at FROM killed_task WHERE first_killed_at = killed_at`,
    },
    {
      what: 'an action that a disaster switched off',
      insert: `INSERT INTO disabled_action (action, message, automatically_clearable, expires_at)
        VALUES ('BOUNCE_REQUEST', '', true, $1::timestamptz + ${switchedOff}), ('KILL_TASK', '', false, $2)`,
      due: `SELECT expires_at - ${switchedOff} AS at FROM disabled_action WHERE automatically_clearable`,
    },
  ])('$what', async ({ insert, due }) => {
    await sql(insert, [ahead, later]);
    await setBack();
    expect(await sql(due)).toEqual([{ at: new Date(now) }]);
  });

  test('but what waits since a time that has been stays as it is', async () => {
    const [since, until] = [new Date(now - 1_000), new Date(now + 30_000)];
    await sql('DELETE FROM held_status_update');
    await sql(
      `INSERT INTO held_status_update (task_id, held_at, attempts, next_attempt_at, last_error, document)
       VALUES ('t', $1, 0, $2, '', '{}')`,
      [since, until],
    );
    await setBack();
    expect(await sql('SELECT next_attempt_at AS at FROM held_status_update')).toEqual([{ at: until }]);
  });
});
