import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { Clock } from '../clock.js';
import { Wake } from '../wake/wake.js';
import { DisabledActionRepository } from './disabled-action.repository.js';
import { DisabledActions } from './disabled-actions.js';

let db: TestDatabase;
let actions: DisabledActions;
let rows: DisabledActionRepository;
const wake = new Wake();
const clock = new Clock();

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  await db.pool.query('TRUNCATE disabled_action');
  vi.restoreAllMocks();
  rows = new DisabledActionRepository();
  actions = new DisabledActions(db.pool, clock, wake, rows);
});

const insert = (expiresAt?: number) =>
  db.pool.query(
    `INSERT INTO disabled_action (action, message, automatically_clearable, expires_at) VALUES ('DEPLOY', 'month end', false, $1)`,
    [expiresAt === undefined ? null : new Date(expiresAt)],
  );

test('many who ask at once, or within a second, cost one statement', async () => {
  const all = vi.spyOn(rows, 'all');
  await Promise.all(Array.from({ length: 20 }, () => actions.isDisabled('DEPLOY')));
  await actions.isDisabled('KILL_TASK');
  expect(all).toHaveBeenCalledTimes(1);
});

test('a signal makes the next one who asks look again', async () => {
  expect(await actions.isDisabled('DEPLOY')).toBe(false);
  await insert();
  expect(await actions.isDisabled('DEPLOY')).toBe(false);
  wake.signal('actions');
  expect(await actions.isDisabled('DEPLOY')).toBe(true);
});

test('a signal that got lost costs a second', async () => {
  expect(await actions.isDisabled('DEPLOY')).toBe(false);
  await insert();
  await waitFor('the second to be over', () => actions.isDisabled('DEPLOY'));
});

test('a signal counts also for what is being read at that moment', async () => {
  const before = actions.isDisabled('DEPLOY');
  wake.signal('actions');
  await before;
  await insert();
  expect(await actions.isDisabled('DEPLOY')).toBe(true);
});

test('a reading that fails is not kept', async () => {
  vi.spyOn(rows, 'all').mockRejectedValueOnce(new Error('the database is away'));
  await expect(actions.isDisabled('DEPLOY')).rejects.toThrow('away');
  expect(await actions.isDisabled('DEPLOY')).toBe(false);
});

test('within a transaction its own connection is asked, and no other', async () => {
  await db.database.transaction(async (tx) => {
    const all = vi.spyOn(rows, 'all');
    await tx.query(
      `INSERT INTO disabled_action (action, message, automatically_clearable) VALUES ('DEPLOY', 'm', false)`,
    );
    expect(await actions.isDisabled('DEPLOY', tx)).toBe(true);
    await expect(actions.refuse('DEPLOY', tx)).rejects.toMatchObject({
      code: 'ACTION_DISABLED',
      status: 409,
      message: 'm',
    });
    expect(all.mock.calls).toEqual([[tx], [tx]]);
  });
});

test('what has expired does not count, whether or not it has been removed', async () => {
  const now = clock.now();
  await insert(now + 60_000);
  expect(await actions.find('DEPLOY')).toMatchObject({ type: 'DEPLOY', expiresAt: now + 60_000 });
  vi.spyOn(clock, 'now').mockReturnValue(now + 60_000);
  expect(await actions.isDisabled('DEPLOY')).toBe(false);
  expect(await actions.list()).toEqual([]);
  await actions.refuse('DEPLOY');
});
