import { beforeEach, describe, expect, test } from 'vitest';
import { DatabaseClock } from './database-clock.js';

const at = Date.UTC(2026, 0, 15, 12);
const tenMinutes = 600_000;
/** Clocks of this machine and of the database, and how long a question takes there and back. */
let wall: number, monotonic: number, database: number;
let there: number, back: number;
let jumps: number[];
let clock: DatabaseClock;

const pass = (millis: number) => {
  wall += millis;
  monotonic += millis;
  database += millis;
};
const ask = () => {
  pass(there);
  const shown = database;
  pass(back);
  return Promise.resolve({ shown });
};
const begin = () => clock.begin({ query: async () => [await ask()] });
const error = () => clock.now() - database;

beforeEach(() => {
  [wall, monotonic, database] = [at, 5_000, at];
  [there, back] = [1, 1];
  jumps = [];
  clock = new DatabaseClock(
    () => wall,
    () => monotonic,
  );
  clock.onJump((millis) => jumps.push(millis));
});

describe('the time of a machine', () => {
  test.each([
    { name: 'ten minutes ahead', ahead: tenMinutes },
    { name: 'ten minutes behind', ahead: -tenMinutes },
    { name: 'a little ahead', ahead: 40 },
  ])('$name: it is that of the database from the beginning', async ({ ahead }) => {
    wall = at + ahead;
    clock = new DatabaseClock(
      () => wall,
      () => monotonic,
    );
    await begin();
    expect(Math.abs(error())).toBeLessThanOrEqual(1);
    expect(Math.abs(clock.skewMillis() - ahead)).toBeLessThanOrEqual(1);
    pass(3_600_000);
    expect(Math.abs(error())).toBeLessThanOrEqual(1);
  });

  test('that agrees with the database stays as it is, however slow the answers are', async () => {
    for (const [go, come] of [
      [0, 0],
      [500, 2],
      [2, 900],
    ] as const) {
      [there, back] = [go, come];
      await clock.during(ask);
      expect(clock.now()).toBe(wall);
    }
  });

  test('that is set changes nothing', async () => {
    await begin();
    wall += tenMinutes;
    expect(error()).toBe(0);
    await clock.during(ask);
    expect([error(), jumps]).toEqual([0, []]);
    expect(clock.skewMillis()).toBe(tenMinutes);
  });
});

describe('the clock of the database', () => {
  test.each([tenMinutes, -tenMinutes])(
    'that is set by %i ms is followed with the next reading, and told',
    async (by) => {
      await begin();
      database += by;
      await clock.during(ask);
      expect(Math.abs(error())).toBeLessThanOrEqual(1);
      expect(jumps.map((millis) => Math.round(millis / 1000))).toEqual([by / 1000]);
      await clock.during(ask);
      expect(jumps).toHaveLength(1);
    },
  );

  test('that runs a little slower or faster is followed without a word', async () => {
    await begin();
    for (let hour = 0; hour < 24; hour++) {
      pass(3_600_000);
      database += 180;
      await clock.during(ask);
      expect(Math.abs(error())).toBeLessThanOrEqual(2);
    }
    expect(jumps).toEqual([]);
  });
});
