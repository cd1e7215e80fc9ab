import { expect, test } from 'vitest';
import { Wake } from '../wake/wake.js';
import { type ProcessMessage, ProcessMessages } from './process-messages.js';

test('what was published is delivered once all others have it, and nothing else is waited for', async () => {
  const onTheWay: (() => void)[] = [];
  const messages = new ProcessMessages(() => new Promise((resolve) => onTheWay.push(resolve)));
  await messages.delivered();
  messages.publish('wrong-proof', { address: '10.0.0.1', digest: 'digest' });
  messages.publish('token-created', { owner: 'ann' });
  let isDelivered = false;
  const delivered = messages.delivered().then(() => (isDelivered = true));
  onTheWay.shift()!();
  await Promise.resolve();
  expect(isDelivered).toBe(false);
  onTheWay.shift()!();
  await delivered;
  await messages.delivered();
});

test('signals that invalidate cached values are published, all others travel by the database alone', () => {
  const published: ProcessMessage[] = [];
  const [one, other] = [new Wake(), new Wake()];
  const signalled: unknown[] = [];
  const receiver = new ProcessMessages(() => Promise.resolve());
  receiver.relayInvalidations(other);
  for (const topic of ['actions', 'tokens', 'deploys'] as const)
    other.on(topic, (keys) => signalled.push([topic, keys]));
  const sender = new ProcessMessages((message) => Promise.resolve(void published.push(message)));
  sender.relayInvalidations(one);
  one.signal('actions');
  one.signalOf(['t1', 't2'], 'tokens');
  one.signalOf(['web'], 'deploys');
  for (const message of published) receiver.receive(message);
  expect(signalled).toEqual([
    ['actions', undefined],
    ['tokens', ['t1', 't2']],
  ]);
  // What was received is not published again.
  expect(published).toHaveLength(2);
});
