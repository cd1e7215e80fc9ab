import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { start } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import type { TaskIdHistory } from '../../core/model/task.js';
import { makeTaskId } from '../../core/task-id.js';
import { HistoryModule } from './history.module.js';
import type { Page } from './paging.js';

let rooms: RoomApp;
beforeAll(async () => (rooms = await startRooms({ modules: [HistoryModule] })));
afterAll(() => rooms.close());

const requests = ['web', 'web-2', 'none'];
const pages = ['count=100', 'count=2', 'count=2&orderDirection=ASC', 'count=100&skipZk=true'];

/** As another instance would write it. */
const statements = {
  end: `INSERT INTO task_history (task_id, request_id, deploy_id, run_id, host, instance_no, started_at, updated_at, last_task_status)
        VALUES ($1, $2, 'd1', nullif($3::int % 3, 0)::text, 'h', 1, to_timestamp($3), to_timestamp($3 + 0.0019), 'TASK_FINISHED')
        ON CONFLICT (task_id) DO UPDATE SET last_task_status = 'TASK_LOST'`,
  purge: `DELETE FROM task_history WHERE task_id = $1 AND $2::text = request_id AND $3::int > 0`,
};
const write = fc.record({
  kind: fc.constantFrom<keyof typeof statements>('end', 'end', 'purge'),
  requestId: fc.constantFrom('web', 'web-2'),
  number: fc.integer({ min: 1, max: 5 }),
});

/** The page that is read with its count is read by itself, each time. */
async function expectAllTold(): Promise<void> {
  const asked = requests.flatMap((id) => pages.map((page) => ({ id, page })));
  const both = await Promise.all(
    asked.map(async ({ id, page }) => {
      const kinds = page.includes('skipZk') ? page : `${page}&skipZk=false`;
      const path = `/api/history/request/${id}/tasks`;
      const shared = await rooms.get<TaskIdHistory[]>(`${path}?${page}`);
      const single = await rooms.get<Page<TaskIdHistory>>(`${path}/withmetadata?${kinds}`);
      return { shared: shared.body, single: single.body.objects };
    }),
  );
  for (const { shared, single } of both) expect(shared).toEqual(single);
}

test(
  'the first page of a request, which callers share, tells at once what was written',
  () =>
    fc.assert(
      fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 8 }), async (writes) => {
        await rooms.database.pool.query('DELETE FROM task_history');
        await expectAllTold();
        for (const { kind, requestId, number } of writes) {
          const startedAt = start + number * 1_000;
          const { id } = makeTaskId({ requestId, deployId: 'd1', startedAt, instanceNo: 1, host: 'h', rackId: 'r' });
          await rooms.database.pool.query(statements[kind], [id, requestId, startedAt / 1_000]);
          await expectAllTold();
        }
      }),
      { numRuns: 3 },
    ),
  60_000,
);
