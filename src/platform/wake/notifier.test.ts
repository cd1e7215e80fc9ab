import { afterEach, beforeAll, afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { startTcpProxy, targetOf, throughProxy } from '../../../test/support/tcp-proxy.js';
import { createDatabase } from '../../../test/support/test-database.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { connect } from '../database/connection.js';
import { channel, Notifier } from './notifier.js';
import { Wake, type WakeTopic } from './wake.js';

let url: string;
let remove: () => Promise<void>;
beforeAll(async () => {
  ({ url, remove } = await createDatabase());
});
afterAll(() => remove());

const running: Notifier[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((notifier) => notifier.stop()));
});

/** An instance that counts what wakes it. */
function instance(databaseUrl = url): { wake: Wake; notifier: Notifier; woken: Record<string, number> } {
  const wake = new Wake();
  const woken: Record<string, number> = {};
  for (const topic of ['deploys', 'scheduler', 'history'] as WakeTopic[]) {
    wake.on(topic, () => (woken[topic] = (woken[topic] ?? 0) + 1));
  }
  const notifier = new Notifier(databaseUrl, wake);
  notifier.start();
  running.push(notifier);
  return { wake, notifier, woken };
}

/** The first thing a listener does when it has connected is to wake everything. */
const listening = (each: { woken: Record<string, number> }) => waitFor('it to listen', () => each.woken['history']);

describe('a signal', () => {
  test('wakes the other instances, by its topic', async () => {
    const [sender, receiver] = [instance(), instance()];
    await Promise.all([sender, receiver].map(listening));
    const before = { ...receiver.woken };
    sender.wake.signal('deploys');
    await waitFor('the signal', () => receiver.woken['deploys']! > before['deploys']!);
    expect(receiver.woken['scheduler']).toBe(before['scheduler']);
  });

  test('tells which requests it is about, unless they are too many for a message', async () => {
    const [sender, receiver] = [instance(), instance()];
    await Promise.all([sender, receiver].map(listening));
    const heard: (readonly string[] | undefined)[] = [];
    receiver.wake.on('deploys', (keys) => heard.push(keys));
    sender.wake.signalOf(['web-1'], 'deploys');
    await waitFor('the first signal', () => heard.length === 1);
    sender.wake.signalOf(
      Array.from({ length: 2_000 }, (_, index) => `web-${index}`),
      'deploys',
    );
    await waitFor('the second signal', () => heard.length === 2);
    sender.wake.signalOf([], 'deploys');
    expect(heard).toEqual([['web-1'], undefined]);
  });

  test('wakes its own instance at once and once', async () => {
    const own = instance();
    await listening(own);
    const other = instance();
    await listening(other);
    const before = own.woken['deploys']!;
    own.wake.signal('deploys');
    expect(own.woken['deploys']).toBe(before + 1);
    const seen = other.woken['deploys']!;
    await waitFor('the other one to hear', () => other.woken['deploys']! >= seen);
    expect(own.woken['deploys']).toBe(before + 1);
  });

  test('given a thousand times in a row makes a few messages', async () => {
    const listener = await connect(url, 'test', 5_000);
    onTestFinished(() => listener.end());
    const messages: string[] = [];
    listener.on('notification', ({ payload }) => messages.push(payload!));
    await listener.query(`LISTEN ${channel}`);
    const sender = instance();
    await listening(sender);
    for (let n = 0; n < 1_000; n++) sender.wake.signal('deploys', 'scheduler');
    await sender.notifier.stop();
    await waitFor('the messages', async () => {
      await listener.query('SELECT 1');
      return messages.length > 0;
    });
    expect(messages.length).toBeLessThanOrEqual(3);
    expect(messages.at(-1)).toMatch(/ (deploys scheduler|scheduler deploys)$/);
  });
});

test('what waits is sent before the notifier stops', async () => {
  const receiver = instance();
  await listening(receiver);
  const before = receiver.woken['scheduler']!;
  const sender = instance();
  sender.wake.signal('scheduler');
  await sender.notifier.stop();
  await waitFor('the signal', () => receiver.woken['scheduler']! > before);
});

test('a broken line is mended, and then everything is woken', async () => {
  const proxy = await startTcpProxy(targetOf(url));
  onTestFinished(() => proxy.close());
  const receiver = instance(throughProxy(url, proxy));
  await listening(receiver);
  proxy.cut();
  const before = { ...receiver.woken };
  receiver.wake.signal('deploys');
  proxy.restore();
  await waitFor('everything to be woken', () => receiver.woken['scheduler']! > before['scheduler']!);
  const sender = instance();
  const mended = receiver.woken['deploys']!;
  sender.wake.signal('deploys');
  await waitFor('a signal over the new line', () => receiver.woken['deploys']! > mended);
});
