import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, type Body, openRoomOn, type RequestsRoom } from '../../../test/support/requests-room.js';
import { createTestDatabase } from '../../../test/support/test-database.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';

const ids = ['one', 'two', 'three'];
let rooms: RequestsRoom[];
beforeAll(async () => {
  const database = await createTestDatabase();
  rooms = [await openRoomOn(database.url), await openRoomOn(database.url, {}, () => database.drop())];
});
afterAll(async () => {
  for (const room of rooms) await room.close();
});

/** Told from each other by the document alone: version and time may well be the same, as those of a request that was made again. */
const statements = {
  change: `UPDATE request SET document = $2 WHERE id = $1 RETURNING id`,
  remove: `DELETE FROM request WHERE id = $1 AND $2::jsonb IS NOT NULL RETURNING id`,
  make: `INSERT INTO request (id, request_type, state, version, changed_at, bouncing, document)
         VALUES ($1, 'SERVICE', 'ACTIVE', 1, 'epoch', false, $2) ON CONFLICT DO NOTHING RETURNING id`,
};
type Kind = keyof typeof statements;

const write = fc.record({
  room: fc.constantFrom(0, 1),
  id: fc.constantFrom(...ids),
  kind: fc.constantFrom<Kind>('change', 'change', 'remove', 'make'),
});

/**
 * A value that was stored under an id, from when it was being written until the next one had been: as long as a read
 * may answer it.
 */
interface Stood {
  instances: number | undefined;
  from: number;
  until: number;
}

/** An answer about a request, as a test of the values that may have been stored. */
interface Told {
  id: string;
  says: (instances: number | undefined) => boolean;
}

interface Read {
  path: string;
  told: (answer: Answer) => Told[];
}

const singly = ids.map((id): Read => ({
  path: `/api/requests/request/${id}/simple`,
  told: ({ status, body }) => {
    const shown = status === 404 ? undefined : body.request.instances;
    return [{ id, says: (instances) => instances === shown }];
  },
}));

/** Lists that are kept. */
const asLists: Read[] = [
  {
    path: '/api/requests/ids',
    told: ({ body }) => {
      const shown = body as unknown as string[];
      return ids.map((id) => ({ id, says: (instances) => shown.includes(id) === (instances !== undefined) }));
    },
  },
  {
    path: '/api/requests',
    told: ({ body }) => {
      const shown = new Map((body as unknown as Body[]).map(({ request }) => [request.id, request.instances]));
      return ids.map((id) => ({ id, says: (instances) => shown.get(id) === instances }));
    },
  },
];

test('of whatever is written by whichever instance, each instance tells at once', async () => {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 20, maxLength: 40 }), async (writes) => {
      await rooms[0]!.sql('DELETE FROM request');
      const stood = new Map(ids.map((id) => [id, [{ instances: undefined, from: 0, until: Infinity } as Stood]]));
      let isWriting = true;
      const follow = async (room: RequestsRoom, reads: Read[]): Promise<void> => {
        for (let turn = 0; isWriting; turn++) {
          const { path, told } = reads[turn % reads.length]!;
          const asked = performance.now();
          const answer = await room.call('GET', path);
          const at = performance.now();
          for (const { id, says } of told(answer)) {
            const mayBe = stood.get(id)!.filter(({ from, until }) => from <= at && until >= asked);
            expect(mayBe.map(({ instances }) => says(instances))).toContain(true);
          }
        }
      };
      const readers = rooms.flatMap((room) => [singly, asLists, asLists].map((reads) => follow(room, reads)));
      for (const { room, id, kind } of writes) {
        const instances = ++count;
        const from = performance.now();
        const next: Stood = { instances: kind === 'remove' ? undefined : instances, from, until: Infinity };
        const before = stood.get(id)!.at(-1)!;
        stood.get(id)!.push(next);
        const document = JSON.stringify({ id, requestType: 'SERVICE', instances });
        const { pool } = rooms[room]!.app.get(Database);
        const written = await rows(pool, statements[kind], [id, document]);
        if (written.length === 0) stood.get(id)!.pop();
        else before.until = performance.now();
      }
      isWriting = false;
      await Promise.all(readers);
    }),
    { numRuns: 4 },
  );
});
