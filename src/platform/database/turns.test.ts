import { expect, test } from 'vitest';
import { Turns } from './turns.js';

/** Work that ends when the test says so. */
function scene(waitMillis?: number) {
  const turns = new Turns(waitMillis);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const call = (name: string, ...keys: string[]) =>
    turns.with(keys, () => {
      begun.push(name);
      return new Promise<void>((end) => ends.set(name, end));
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)!();
    await new Promise((done) => setImmediate(done));
  };
  return { begun, call, end };
}
const settled = () => new Promise((done) => setImmediate(done));

test('calls on one record follow each other in the order in which they came; others do not wait', async () => {
  const { begun, call, end } = scene();
  const calls = [call('a', 'web'), call('b', 'web'), call('c', 'web'), call('other', 'api')];
  await settled();
  expect(begun).toEqual(['a', 'other']);
  await end('a');
  expect(begun).toEqual(['a', 'other', 'b']);
  await end('b');
  await end('c');
  await end('other');
  await Promise.all(calls);
});

test('a call on two records, named in whatever order, waits for both and never for a call that waits for it', async () => {
  const { begun, call, end } = scene();
  const calls = [call('a', 'web', 'api'), call('b', 'api', 'web', 'api')];
  await settled();
  expect(begun).toEqual(['a']);
  await end('a');
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  await Promise.all(calls);
});

test('a call that fails ends its turn', async () => {
  const turns = new Turns();
  await expect(turns.with(['web'], () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await turns.with(['web'], () => Promise.resolve('next'))).toBe('next');
});

test('a call whose turn does not come in time is told to try again, and leaves the line', async () => {
  const { begun, call, end } = scene(20);
  const first = call('a', 'web');
  const late = await call('b', 'api', 'web').catch((cause: unknown) => cause);
  expect(late).toMatchObject({ code: 'UNAVAILABLE' });
  const next = call('c', 'web');
  const other = call('d', 'api');
  await settled();
  expect(begun).toEqual(['a', 'd']);
  await end('a');
  expect(begun).toEqual(['a', 'd', 'c']);
  await end('c');
  await end('d');
  await Promise.all([first, next, other]);
});
