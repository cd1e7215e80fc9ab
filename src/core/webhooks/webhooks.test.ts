import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  afterFailure,
  type FailedAttempt,
  fillPlaceholders,
  makeWebhookId,
  retryDelay,
  type RetryRules,
  webhookIdCandidates,
} from './delivery.js';

const second = 1_000;
const rules: RetryRules = {
  firstRetryMillis: second,
  maxRetryMillis: 600 * second,
  breakerThreshold: 5,
  giveUpAfterMillis: 3_600 * second,
  maxQueued: 50,
};
const plain = 0.5;

describe('retryDelay', () => {
  test.each([
    [1, 1],
    [2, 2],
    [5, 16],
    [10, 512],
    [11, 600],
    [2_000, 600],
  ])('after %i failures: %i seconds', (failures, seconds) => {
    expect(retryDelay(failures, rules, plain)).toBe(seconds * second);
  });

  test('stays within a fifth of the plain wait and never above the longest', () =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
        const delay = retryDelay(failures, rules, random);
        const wait = retryDelay(failures, rules, plain);
        return delay >= wait * 0.8 && delay <= Math.min(wait * 1.2, rules.maxRetryMillis);
      }),
    ));
});

describe('afterFailure', () => {
  const failed: FailedAttempt = { eventAt: 0, attempts: 1, failuresInRow: 1, queued: 1 };
  test.each<{ name: string; attempt: Partial<FailedAttempt>; now?: number; becomes: object }>([
    { name: 'is tried again', attempt: {}, becomes: { kind: 'retry', nextAttemptAt: 1 * second } },
    {
      name: 'waits longer each time',
      attempt: { attempts: 3 },
      becomes: { kind: 'retry', nextAttemptAt: 4 * second },
    },
    {
      name: 'the fifth failure in a row leaves the webhook alone',
      attempt: { failuresInRow: 5 },
      becomes: { kind: 'retry', nextAttemptAt: 1 * second, nextProbeAt: 16 * second },
    },
    {
      name: 'an old one is given up',
      attempt: {},
      now: 3_600 * second + 1,
      becomes: { kind: 'give-up', why: 'TOO_OLD' },
    },
    {
      name: 'as old as allowed is not',
      attempt: {},
      now: 3_600 * second,
      becomes: { kind: 'retry', nextAttemptAt: 3_601 * second },
    },
    { name: 'the queue may be full', attempt: { queued: 50 }, becomes: { kind: 'retry', nextAttemptAt: 1 * second } },
    {
      name: 'beyond that one is given up, and the breaker counts on',
      attempt: { queued: 51, failuresInRow: 6 },
      becomes: { kind: 'give-up', why: 'QUEUE_FULL', nextProbeAt: 32 * second },
    },
  ])('$name', ({ attempt, now = 0, becomes }) => {
    expect(afterFailure({ ...failed, ...attempt }, rules, now, plain)).toEqual({ nextProbeAt: undefined, ...becomes });
  });

  test('zero means no limit', () => {
    const limitless = { ...rules, giveUpAfterMillis: 0, maxQueued: 0 };
    const attempt = { ...failed, queued: 1_000_000 };
    expect(afterFailure(attempt, limitless, Number.MAX_SAFE_INTEGER / 2, plain).kind).toBe('retry');
  });
});

describe('fillPlaceholders', () => {
  test.each([
    ['http://x/$REQUEST_ID/$DEPLOY_ID', { REQUEST_ID: 'web', DEPLOY_ID: 'd1' }, 'http://x/web/d1'],
    ['http://x/?r=$REQUEST_ID&r=$REQUEST_ID', { REQUEST_ID: 'a b&c/d' }, 'http://x/?r=a%20b%26c%2Fd&r=a%20b%26c%2Fd'],
    ['http://x/$TASK_ID', { REQUEST_ID: 'web' }, 'http://x/$TASK_ID'],
    ['http://x/$REQUEST_IDS', { REQUEST_ID: 'web' }, 'http://x/$REQUEST_IDS'],
    ['http://x/plain', {}, 'http://x/plain'],
  ])('%s', (uri, placeholders, filled) => expect(fillPlaceholders(uri, placeholders)).toBe(filled));
});

describe('webhook ids', () => {
  test.each([
    ['http://127.0.0.1:9/hook', 'TASK-http%3A%2F%2F127.0.0.1%3A9%2Fhook'],
    ["http://h/a b~(c)'*!", 'TASK-http%3A%2F%2Fh%2Fa+b%7E%28c%29%27*%21'],
  ])('of %s', (uri, id) => expect(makeWebhookId('TASK', uri)).toBe(id));

  test('the stored form and the plain one both lead to it', () =>
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true }), (uri) => {
        const id = makeWebhookId('REQUEST', uri);
        return webhookIdCandidates(id).includes(id) && webhookIdCandidates(`REQUEST-${uri}`).includes(id);
      }),
    ));

  test('what names no type is taken as it is', () => expect(webhookIdCandidates('nope')).toEqual(['nope']));
});
