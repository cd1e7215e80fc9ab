import { describe, expect, test } from 'vitest';
import type { TimeWindow } from '../model/request-spec.js';
import { closedWindows, readDeployWindows } from './index.js';

const at = (text: string): number => Date.parse(text);
const request = (deployWindows?: TimeWindow[]) => ({ id: 'web', deployWindows });
const hour = 3_600_000;
/** 09:00 to 17:00 in Paris, which is 07:00 to 15:00 UTC in summer. */
const office: TimeWindow = { schedule: '0 9 * * MON-THU', scheduleTimeZone: 'Europe/Paris', durationMillis: 8 * hour };
const march: TimeWindow = { from: at('2026-03-01T00:00:00Z'), to: at('2026-04-01T00:00:00Z') };

describe('a deploy starts', () => {
  test.each<{ name: string; windows?: TimeWindow[]; now: string; opens: string | undefined | 'open' }>([
    { name: 'at any time without windows', windows: undefined, now: '2026-06-13T12:00:00Z', opens: 'open' },
    { name: 'from the begin of a window', windows: [office], now: '2026-06-15T07:00:00Z', opens: 'open' },
    { name: 'up to its end', windows: [office], now: '2026-06-15T14:59:59.999Z', opens: 'open' },
    { name: 'not at its end', windows: [office], now: '2026-06-15T15:00:00Z', opens: '2026-06-16T07:00:00Z' },
    { name: 'not on other days', windows: [office], now: '2026-06-12T09:00:00Z', opens: '2026-06-15T07:00:00Z' },
    { name: 'by the clock of its zone', windows: [office], now: '2026-12-14T07:30:00Z', opens: '2026-12-14T08:00:00Z' },
    { name: 'between two times', windows: [march], now: '2026-03-01T00:00:00Z', opens: 'open' },
    { name: 'not before', windows: [march], now: '2026-02-28T23:59:59Z', opens: '2026-03-01T00:00:00Z' },
    { name: 'never after the last', windows: [march], now: '2026-04-01T00:00:00Z', opens: undefined },
    { name: 'in any of them', windows: [march, office], now: '2026-06-15T08:00:00Z', opens: 'open' },
    {
      name: 'at the next of them',
      windows: [office, march],
      now: '2026-02-28T00:00:00Z',
      opens: '2026-03-01T00:00:00Z',
    },
    {
      name: 'in one that begins within another',
      windows: [{ schedule: '0 * * * *', durationMillis: 2 * hour }],
      now: '2026-06-15T15:59:59Z',
      opens: 'open',
    },
  ])('$name', ({ windows, now, opens }) => {
    const closed = closedWindows(request(windows), undefined, [], at(now));
    expect(closed).toEqual(opens === 'open' ? undefined : { opensAt: opens && at(opens) });
  });
});

describe('a deploy of a request in groups', () => {
  const now = at('2026-06-13T12:00:00Z');
  const open: TimeWindow = { from: now - hour, to: now + hour };
  const opening = (inHours: number): TimeWindow => ({ from: now + inHours * hour, to: now + 100 * hour });
  const past: TimeWindow = { from: now - 2 * hour, to: now };
  test.each<{ name: string; own?: TimeWindow; groups: Record<string, TimeWindow>; is: object | undefined }>([
    { name: 'starts where all of them are open', own: open, groups: { a: open, b: open }, is: undefined },
    { name: 'does not start outside of those of one', own: open, groups: { a: open, b: opening(2) }, is: [2, 'b'] },
    { name: 'does not start outside of its own', own: opening(3), groups: { a: open }, is: [3, undefined] },
    { name: 'is told those that open last', own: opening(1), groups: { a: opening(5), b: opening(2) }, is: [5, 'a'] },
    {
      name: 'is told those that never open',
      own: opening(1),
      groups: { a: opening(5), b: past },
      is: [undefined, 'b'],
    },
  ])('$name', ({ own, groups, is }) => {
    const windows = Object.entries(groups).map(([id, window]) => ({ id, deployWindows: [window] }));
    const closed = closedWindows(request(own && [own]), undefined, windows, now);
    expect(closed && [closed.opensAt && (closed.opensAt - now) / hour, closed.groupId]).toEqual(is);
  });
});

test.each<[TimeWindow, string]>([
  [{}, 'deployWindows.1.schedule required'],
  [{ schedule: '61 * * * *', durationMillis: 1 }, 'deployWindows.1.schedule cron'],
  [{ schedule: '0 * * * *' }, 'deployWindows.1.durationMillis required'],
  [{ schedule: '0 * * * *', durationMillis: 0 }, 'deployWindows.1.durationMillis min'],
  [{ schedule: '0 * * * *', durationMillis: 1, scheduleTimeZone: 'Mars' }, 'deployWindows.1.scheduleTimeZone timeZone'],
  [{ schedule: '0 * * * *', durationMillis: 1, from: 1 }, 'deployWindows.1.from consistent'],
  [{ from: 2, to: 2 }, 'deployWindows.1.to after'],
  [{ from: 1, to: 2, durationMillis: 1 }, 'deployWindows.1.durationMillis consistent'],
])('%j is refused: %s', (window, error) => {
  const { errors } = readDeployWindows(request([office, window]));
  expect(errors.map(({ field, rule }) => `${field} ${rule}`)).toEqual([error]);
});
