import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CallerTurns } from './caller-turns.js';

let begun: string[] = [];
let turns: CallerTurns;
beforeEach(() => {
  vi.useFakeTimers();
  begun = [];
  turns = new CallerTurns(2, () => Date.now());
});
afterEach(() => void vi.useRealTimers());

const take = (caller: string, name = caller) => {
  const turn = turns.take(caller);
  if (turn.begun) void turn.begun.then(() => begun.push(name));
  else begun.push(name);
  return turn;
};

test('a caller who is alone has its next call begin when one has ended', async () => {
  const [first, second] = [take('ann', 'a1'), take('ann', 'a2')];
  take('ann', 'a3');
  take('ann', 'a4');
  expect(begun).toEqual(['a1', 'a2']);
  await vi.advanceTimersByTimeAsync(100);
  first.end();
  second.end();
  first.end();
  await vi.advanceTimersByTimeAsync(0);
  expect(begun).toEqual(['a1', 'a2', 'a3', 'a4']);
});

test('while others call who took less, a turn rests three times as long as its call took, and theirs begin at once', async () => {
  const first = take('ann', 'a1');
  take('ann', 'a2');
  take('ann', 'a3');
  take('bob').end();
  await vi.advanceTimersByTimeAsync(100);
  first.end();
  await vi.advanceTimersByTimeAsync(299);
  take('bob').end();
  expect(begun).toEqual(['a1', 'a2', 'bob', 'bob']);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun.at(-1)).toBe('a3');
});

test('one who has taken less than another does not rest', async () => {
  const long = take('ann', 'a1');
  await vi.advanceTimersByTimeAsync(500);
  long.end();
  const [short] = [take('bob', 'b1'), take('bob', 'b2')];
  take('bob', 'b3');
  await vi.advanceTimersByTimeAsync(50);
  short.end();
  await vi.advanceTimersByTimeAsync(0);
  expect(begun).toEqual(['a1', 'b1', 'b2', 'b3']);
});

test('a rest ends after three seconds, and nobody rests for one who called long ago', async () => {
  take('bob').end();
  const [first, second] = [take('ann', 'a1'), take('ann', 'a2')];
  take('ann', 'a3');
  take('ann', 'a4');
  await vi.advanceTimersByTimeAsync(9_000);
  first.end();
  await vi.advanceTimersByTimeAsync(2_999);
  expect(begun).toEqual(['bob', 'a1', 'a2']);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun.at(-1)).toBe('a3');
  second.end();
  await vi.advanceTimersByTimeAsync(0);
  expect(begun.at(-1)).toBe('a4');
});

test('a call that ends while it waits is passed over', async () => {
  const [first] = [take('ann', 'a1'), take('ann', 'a2')];
  take('ann', 'gone').end();
  take('ann', 'a3');
  first.end();
  await vi.advanceTimersByTimeAsync(0);
  expect(begun).toEqual(['a1', 'a2', 'a3']);
});
