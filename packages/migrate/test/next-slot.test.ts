import { expect, test } from 'vitest';
import { handOverMessage, nextSlot, type RestingJob } from '../src/import-from/next-slot.js';

/** Every minute on the minute. The job was made at 11:00 and is paused by the hand-over. */
const schedule = { quartzSchedule: '0 * * * * ?' };
const at = (time: string): number => Date.parse(`2026-11-01T${time}Z`);
const paused = (time: string, message = handOverMessage) => ({ createdAt: at(time), eventType: 'PAUSED', message });
const created = { createdAt: at('11:00:00'), eventType: 'CREATED' };
const run = (startedAt: string, endedAt: string) => ({ startedAt: at(startedAt), endedAt: at(endedAt) });
const job = (given: Partial<RestingJob>): RestingJob => ({
  events: [paused('12:00:30'), created],
  tasks: [],
  ...given,
});

test.each<{ name: string; job: RestingJob; now: string; slot: string }>([
  {
    name: 'nothing came due in between',
    job: job({ tasks: [run('12:00:00.2', '12:00:05')] }),
    now: '12:00:33',
    slot: '12:01:00',
  },
  {
    name: 'a time passed between the pause there and the beginning here',
    job: job({ events: [paused('12:00:58'), created], tasks: [run('12:00:00.2', '12:00:05')] }),
    now: '12:01:03',
    slot: '12:01:00',
  },
  {
    name: 'a time was due there and had not begun when it was paused',
    job: job({ events: [paused('12:01:01'), created], tasks: [run('12:00:00.2', '12:00:05')] }),
    now: '12:01:03',
    slot: '12:01:00',
  },
  {
    name: 'its last run took long: what came due meanwhile is left out, as it would be there',
    job: job({ tasks: [run('12:00:00.2', '12:04:10')] }),
    now: '12:04:12',
    slot: '12:05:00',
  },
  {
    name: 'a time passed after the end of its last run',
    job: job({ tasks: [run('12:00:00.2', '12:04:59')] }),
    now: '12:05:01',
    slot: '12:05:00',
  },
  {
    name: 'the clock there is ahead: what it has run is not run again',
    job: job({ events: [paused('12:01:02'), created], tasks: [run('12:01:00.2', '12:01:01')] }),
    now: '12:00:59',
    slot: '12:02:00',
  },
  {
    name: 'the clock there is behind: what came due here meanwhile is run',
    job: job({ events: [paused('12:00:59'), created], tasks: [run('12:00:00.2', '12:00:05')] }),
    now: '12:01:04',
    slot: '12:01:00',
  },
  {
    name: 'it was unpaused there a moment ago: its times before that were not wanted',
    job: job({
      events: [paused('12:00:30'), { createdAt: at('12:00:20'), eventType: 'UNPAUSED' }, created],
      tasks: [run('11:02:00', '11:02:05')],
    }),
    now: '12:00:33',
    slot: '12:01:00',
  },
  {
    name: 'it was deployed there a moment ago',
    job: job({ deployedAt: at('12:00:10'), tasks: [run('11:02:00', '11:02:05')] }),
    now: '12:00:33',
    slot: '12:01:00',
  },
  {
    name: 'an operator paused it there',
    job: job({ events: [paused('11:30:00', 'a holiday'), created], tasks: [run('11:29:00', '11:29:05')] }),
    now: '12:00:33',
    slot: '12:01:00',
  },
  { name: 'of a history nothing is left', job: job({ events: [] }), now: '12:00:33', slot: '12:01:00' },
])('$name', ({ job, now, slot }) => expect(nextSlot(schedule, job, at(now))).toBe(at(slot)));

test('a schedule that has ended has no time', () => {
  expect(nextSlot({ quartzSchedule: '0 0 0 1 1 ? 2020' }, job({}), at('12:00:00'))).toBeUndefined();
});
