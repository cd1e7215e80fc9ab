import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import {
  emailTypes,
  type EmailDestination,
  type EmailType,
  type RequestState,
  type RequestType,
} from '../model/enums.js';
import type { EndedTask, RequestOfTask } from '../completion/ended-task.js';
import { formatTime, isDatePattern } from './date-pattern.js';
import { duration, oneLine, readable } from './document.js';
import { audienceOf, mailTypes, type AfterTask, type DestinationSettings } from './mail-types.js';
import { html } from './markup.js';
import { limitRate, type RateLimitState } from './rate-limit.js';
import { render } from './render.js';
import { isMailAddress, mostRecipients, recipientsOf } from './recipients.js';
import { retryDelay } from '../webhooks/delivery.js';
import { afterProblem } from './retry.js';
import { taskEndMail } from './task-end.js';

describe('who is told', () => {
  const request = { id: 'r', requestType: 'SERVICE', owners: ['o@x', 'not an address'] } as const;
  test('every type has its destinations', () => {
    expect(Object.keys(mailTypes).toSorted()).toEqual([...emailTypes].toSorted());
    expect(audienceOf({ type: 'TASK_LOST', request: { ...request, owners: ['o@x'] } }, {})).toEqual({
      destinations: ['ADMINS', 'ACTION_TAKER'],
      owners: ['o@x'],
    });
  });
  test.each<[string, EmailType, DestinationSettings, Record<string, EmailDestination[]>, unknown]>([
    ['by default none', 'TASK_KILLED', {}, {}, undefined],
    ['settings before defaults', 'TASK_KILLED', { TASK_KILLED: ['OWNERS'] }, {}, ['OWNERS']],
    ['settings may silence', 'TASK_FAILED', { TASK_FAILED: [] }, {}, undefined],
    [
      'the request before settings',
      'TASK_KILLED',
      { TASK_KILLED: ['OWNERS'] },
      { TASK_KILLED: ['ADMINS'] },
      ['ADMINS'],
    ],
    ['the request may silence', 'TASK_FAILED', {}, { TASK_FAILED: [] }, undefined],
    ['others keep their default', 'TASK_LOST', {}, { TASK_FAILED: [] }, ['ADMINS', 'ACTION_TAKER']],
    ['system mails heed no request', 'DISASTER_DETECTED', {}, { DISASTER_DETECTED: [] }, ['ADMINS']],
  ])('%s', (_name, type, configured, emailConfigurationOverrides, destinations) => {
    const audience = audienceOf({ type, request: { ...request, owners: [], emailConfigurationOverrides } }, configured);
    expect(audience?.destinations).toEqual(destinations);
  });

  const all = { destinations: ['OWNERS', 'ADMINS', 'ACTION_TAKER'] as const, owners: ['o@x'] };
  const everyone = () => true;
  test.each([
    ['owners, admins as copies, who did it', all, 'u@x', everyone, ['o@x', 'u@x'], ['a@x']],
    ['without owners to the admins', { ...all, owners: [] }, undefined, everyone, ['a@x'], []],
    ['who did it is left out', { ...all, destinations: ['OWNERS'] as const }, 'O@X', everyone, undefined, []],
    ['a copy alone is never sent', all, undefined, (one: string) => one !== 'o@x', undefined, []],
    ['none twice, copies included', { ...all, owners: ['o@x', 'O@x', 'a@x'] }, 'o@x', everyone, ['o@x', 'a@x'], []],
    ['who is no address is left out', all, 'ann', everyone, ['o@x'], ['a@x']],
  ])('%s', (_name, audience, actionTaker, mayWriteTo, to, cc) => {
    const found = recipientsOf(audience, { admins: ['a@x'], actionTaker, mayWriteTo });
    expect(found && { to: found.to, cc: found.cc }).toEqual(to && { to, cc });
  });
  test('there is an end to them', () => {
    const many = Array.from({ length: 90 }, (_, n) => `o${n}@x`);
    const admins = Array.from({ length: 90 }, (_, n) => `a${n}@x`);
    const found = recipientsOf({ ...all, owners: many }, { admins, mayWriteTo: everyone })!;
    expect([found.to.length, found.cc.length, found.leftOut]).toEqual([90, mostRecipients - 90, 80]);
  });
  test.each(['a@b', 'first.last+tag@sub.example.com', "o'neil@example.com", 'jö@exämple.com'])(
    '%s is an address',
    (text) => expect(isMailAddress(text)).toBe(true),
  );
  test.each([
    '',
    'a',
    'a@',
    '@b',
    'a@b@c',
    'a b@c',
    'a@b\r\nBcc: x@y',
    'A <a@b>',
    'a@b,c@d',
    '"a"@b',
    'a\u0000@b',
    `${'a'.repeat(330)}@b`,
  ])('%j is none', (text) => expect(isMailAddress(text)).toBe(false));
});

describe('how many', () => {
  const rules = { rateLimitAfterNotifications: 2, rateLimitPeriodMillis: 100, rateLimitCooldownMillis: 1_000 };
  const outcomes = (times: number[], changed = rules): string[] => {
    let state: RateLimitState = { sentAt: [] };
    return times.map((at) => {
      const decision = limitRate(state, at, changed);
      state = decision.state;
      return decision.outcome;
    });
  };
  test.each([
    ['so many are sent', [0, 1], ['MAIL', 'MAIL']],
    ['the next is a notice, then nothing', [0, 1, 2, 3, 999], ['MAIL', 'MAIL', 'NOTICE', 'DROP', 'DROP']],
    ['after the cooldown they are sent again', [0, 1, 2, 1_002], ['MAIL', 'MAIL', 'NOTICE', 'MAIL']],
    ['those further apart are never too many', [0, 60, 120, 180], ['MAIL', 'MAIL', 'MAIL', 'MAIL']],
  ])('%s', (_name, times, expected) => expect(outcomes(times)).toEqual(expected));
  test('0: any number', () =>
    expect(
      new Set(
        outcomes(
          Array.from({ length: 50 }, () => 0),
          { ...rules, rateLimitAfterNotifications: 0 },
        ),
      ),
    ).toEqual(new Set(['MAIL'])));
  test('what is remembered has an end, and a notice comes once per cooldown', () =>
    fc.assert(
      fc.property(fc.array(fc.nat(5_000)), (gaps) => {
        let state: RateLimitState = { sentAt: [] };
        let at = 0;
        let notices = 0;
        for (const gap of gaps) {
          const decision = limitRate(state, (at += gap), rules);
          state = decision.state;
          if (decision.outcome === 'NOTICE') notices += 1;
          expect(state.sentAt.length).toBeLessThanOrEqual(3);
        }
        expect(notices).toBeLessThanOrEqual(at / rules.rateLimitCooldownMillis + 1);
      }),
    ));
});

describe('ends of tasks', () => {
  const told = (
    task: Partial<EndedTask>,
    {
      requestType = 'SERVICE',
      state = 'ACTIVE',
      ...deploys
    }: { requestType?: RequestType; state?: RequestState; activeDeployId?: string } = {},
    next: AfterTask = 'nothing',
  ) =>
    taskEndMail(
      { taskId: { deployId: 'd1' }, state: 'TASK_FAILED', endedAt: 0, hadToGo: false, ...task } as EndedTask,
      { request: { id: 'r', requestType }, state, activeDeployId: 'd1', ...deploys } as RequestOfTask,
      next,
    );
  test.each([
    [told({}), 'TASK_FAILED'],
    [told({ cleanupType: 'DECOMISSIONING' }), 'TASK_FAILED_DECOMISSIONED'],
    [told({ state: 'TASK_FINISHED' }), 'TASK_FINISHED_LONG_RUNNING'],
    [told({ state: 'TASK_FINISHED' }, { requestType: 'WORKER' }), 'TASK_FINISHED_LONG_RUNNING'],
    [told({ state: 'TASK_FINISHED' }, { requestType: 'SCHEDULED' }), 'TASK_FINISHED_SCHEDULED'],
    [told({ state: 'TASK_FINISHED' }, { requestType: 'ON_DEMAND' }), 'TASK_FINISHED_ON_DEMAND'],
    [told({ state: 'TASK_FINISHED' }, { requestType: 'RUN_ONCE' }), 'TASK_FINISHED_RUN_ONCE'],
    [told({ state: 'TASK_KILLED' }), 'TASK_KILLED'],
    [told({ state: 'TASK_KILLED', cleanupType: 'DECOMISSIONING' }), 'TASK_KILLED_DECOMISSIONED'],
    [told({ state: 'TASK_KILLED', cleanupType: 'UNHEALTHY_NEW_TASK' }), 'TASK_KILLED_UNHEALTHY'],
    [told({ state: 'TASK_KILLED', cleanupType: 'OVERDUE_NEW_TASK' }), 'TASK_KILLED_UNHEALTHY'],
    [told({ state: 'TASK_LOST' }), 'TASK_LOST'],
    [told({ state: 'TASK_ERROR' }), undefined],
    [told({}, { state: 'PAUSED' }), undefined],
    [told({}, { state: 'DELETING' }), undefined],
    [told({}, { state: 'SYSTEM_COOLDOWN' }), undefined],
    [told({}, { state: 'FINISHED' }), 'TASK_FAILED'],
    [told({}, { activeDeployId: 'd2' }), undefined],
    [told({}, { activeDeployId: 'd2' }, 'retry'), 'TASK_FAILED'],
  ])('%s', (found, expected) => expect(found).toBe(expected));
});

describe('when it cannot be sent', () => {
  const rules = { firstRetryMillis: 10, maxRetryMillis: 100, giveUpAfterMillis: 1_000 };
  test.each([
    ['later', 1, 0, { kind: 'retry', nextAttemptAt: 10 }],
    ['server', 3, 0, { kind: 'retry', nextAttemptAt: 40 }],
    ['later', 40, 0, { kind: 'retry', nextAttemptAt: 100 }],
    ['never', 1, 0, { kind: 'give-up' }],
    ['later', 1, -1_001, { kind: 'give-up' }],
  ] as const)('%s, attempt %i', (kind, attempts, at, expected) =>
    expect(afterProblem({ kind, message: '' }, { at, attempts }, rules, 0, 0.5)).toEqual(expected),
  );
  test('waits are spread', () => expect([retryDelay(1, rules, 0), retryDelay(1, rules, 1)]).toEqual([8, 12]));
});

describe('words', () => {
  test('times are written as the setting says', () => {
    const at = Date.UTC(2026, 0, 5, 0, 7, 9, 42);
    expect(formatTime(at, 'MMM dd h:mm:ss a zzz', 'UTC')).toBe('Jan 05 12:07:09 AM UTC');
    expect(formatTime(at, "yyyy-MM-dd'T'HH:mm:ss.SSS z", 'America/New_York')).toBe('2026-01-04T19:07:09.042 EST');
    expect(formatTime(at, "EEEE, d. MMMM yy 'o''clock'", 'UTC')).toBe("Monday, 5. January 26 o'clock");
    expect(['', 'q', "'open", 'YYYY'].map(isDatePattern)).toEqual([false, false, false, false]);
  });
  test('nothing becomes markup that is none', () =>
    fc.assert(
      fc.property(fc.string(), (text) => {
        const { text: made } = html`<p title="${text}">${text}</p>`;
        expect(made.replace(/^<p title="/, '').replace(/<\/p>$/, '')).not.toMatch(/<|'|"(?!>)/);
      }),
    ));
  test('short words in a table stay whole, long ones are broken', () => {
    const rows = [['TASK_LAUNCHED', 'x'.repeat(40)]];
    const block = { kind: 'table' as const, title: 'What happened', head: ['Status', 'Message'], rows };
    const document = { subject: 's', title: 't', colour: '#777777', blocks: [block] };
    const { html: made } = render(document, { product: 'Muster', time: String });
    // The last one counts, and a table has those of what is around it.
    const wrapOf = (text: string) => new RegExp(`word-break:([^";]*);color:#1f2937">${text}`).exec(made)?.[1];
    expect([wrapOf('TASK_LAUNCHED'), wrapOf('xxx')]).toEqual(['normal', 'break-word']);
  });
  test('a line is one line with an end, and steers nothing', () => {
    expect(oneLine('a\r\n b\u001b[31m red\u001b[0m\u202e \u0007x')).toBe('a b red\u{fffd} \u{fffd}x');
    expect(oneLine('x'.repeat(1_000)).length).toBe(300);
    expect(readable('a\r\nb\tc\u0000')).toBe('a\nb\tc\u{fffd}');
  });
  test.each([
    [0, '0 ms'],
    [1_000, '1 second'],
    [61_000, '1 minute 1 second'],
    [86_400_000, '1 day'],
    [90_061_000, '1 day 1 hour'],
  ])('%i ms', (millis, text) => expect(duration(millis)).toBe(text));
});
