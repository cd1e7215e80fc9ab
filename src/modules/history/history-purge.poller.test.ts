import { expect, test } from 'vitest';
import { testSettings } from '../../../test/support/test-settings.js';
import type { Pollers } from '../../platform/poller/pollers.js';
import type { PollerOptions } from '../../platform/poller/poller.js';
import { HistoryPurgePoller, type HistoryPurger } from './history-purger.service.js';

test.each([
  { name: 'off by default', keys: {}, everyMs: [] },
  { name: 'not without a limit for rows', keys: { enabled: true }, everyMs: [] },
  { name: 'not for payloads alone', keys: { enabled: true, deleteTaskHistoryBytesAfterDays: 30 }, everyMs: [] },
  { name: 'not while switched off', keys: { deleteTaskHistoryAfterDays: 30 }, everyMs: [] },
  { name: 'by age', keys: { enabled: true, deleteTaskHistoryAfterDays: 30 }, everyMs: [86_400_000] },
  { name: 'by count', keys: { enabled: true, deleteTaskHistoryAfterTasksPerRequest: 9 }, everyMs: [86_400_000] },
  {
    name: 'as often as is said',
    keys: { enabled: true, deleteTaskHistoryAfterDays: 1, checkTaskHistoryEveryHours: 2 },
    everyMs: [7_200_000],
  },
  {
    name: 'never without a time between two',
    keys: { enabled: true, deleteTaskHistoryAfterDays: 1, checkTaskHistoryEveryHours: 0 },
    everyMs: [],
  },
])('the history is purged: $name', ({ keys, everyMs }) => {
  const settings = testSettings();
  Object.assign(settings.historyPurging, keys);
  const registered: PollerOptions[] = [];
  const pollers = { register: (options: PollerOptions) => void registered.push(options) } as unknown as Pollers;
  new HistoryPurgePoller({} as HistoryPurger, pollers, settings);
  expect(registered.map((options) => options.everyMs)).toEqual(everyMs);
});
