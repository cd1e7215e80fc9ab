import { expect, test } from 'vitest';
import { Wake } from '../wake/wake.js';
import { type Word, Words } from './words.js';

test('what was told is heard once all others have it, and nothing else is waited for', async () => {
  const onTheWay: (() => void)[] = [];
  const words = new Words(() => new Promise((resolve) => onTheWay.push(resolve)));
  await words.heard();
  words.tell('wrong-proof', '10.0.0.1', 'digest');
  words.tell('token-made', 'ann');
  let isHeard = false;
  const heard = words.heard().then(() => (isHeard = true));
  onTheWay.shift()!();
  await Promise.resolve();
  expect(isHeard).toBe(false);
  onTheWay.shift()!();
  await heard;
  await words.heard();
});

test('signals about what processes keep go this way, all others by the database alone', () => {
  const told: Word[] = [];
  const [one, other] = [new Wake(), new Wake()];
  const heard: unknown[] = [];
  const receiver = new Words(() => Promise.resolve());
  receiver.carry(other);
  for (const topic of ['actions', 'tokens', 'deploys'] as const) other.on(topic, (keys) => heard.push([topic, keys]));
  const sender = new Words((word) => Promise.resolve(void told.push(word)));
  sender.carry(one);
  one.signal('actions');
  one.signalOf(['t1', 't2'], 'tokens');
  one.signalOf(['web'], 'deploys');
  for (const word of told) receiver.hear(word);
  expect(heard).toEqual([
    ['actions', undefined],
    ['tokens', ['t1', 't2']],
  ]);
  // What was heard is not told again.
  expect(told).toHaveLength(2);
});
