import { expect, test } from 'vitest';
import { RequestHistoryRepository } from './request-history.repository.js';
import { Database } from '../../platform/database/database.js';
import { openRequestsRoom } from '../../../test/support/requests-room.js';

test('events of one moment are kept in the order in which they happened, and webhooks are told the same times', async () => {
  const room = await openRequestsRoom();
  try {
    await room.request('web');
    await room.sql(
      `INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ('w', 'http://127.0.0.1:1/', 'REQUEST', now())`,
    );
    const request = { id: 'web', requestType: 'SERVICE' } as const;
    const createdAt = room.clock.now();
    const history = room.app.get(RequestHistoryRepository, { strict: false });
    for (const eventType of ['SCALED', 'BOUNCED', 'SCALED', 'UPDATED'] as const) {
      await room.app.get(Database).transaction((tx) => history.record(tx, { createdAt, eventType, request }));
    }
    const newestFirst = ['UPDATED', 'SCALED', 'BOUNCED', 'SCALED', 'CREATED'];
    expect((await room.history('web')).map(([type]) => type)).toEqual(newestFirst);
    const told = await room.sql(`SELECT body ->> 'eventType' AS type FROM webhook_update ORDER BY event_at DESC`);
    expect(told.map(({ type }) => type)).toEqual(newestFirst.slice(0, 4));
  } finally {
    await room.close();
  }
});
