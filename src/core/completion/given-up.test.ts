import { describe, expect, test } from 'vitest';
import type { TaskState } from '../model/enums.js';
import { countsAsLive } from '../model/strategy.js';
import { isGoneByList, mayRunAfter } from './index.js';

type Given = Parameters<typeof mayRunAfter>[0];
type Reported = Parameters<typeof mayRunAfter>[1];

const running: Given = { state: 'TASK_RUNNING', incarnation: 'i1', ended: false, mayRun: false };
const givenUp: Given = { state: 'TASK_UNREACHABLE', incarnation: 'i1', ended: true, mayRun: true };
const toldBy = (incarnation: string | undefined, state: TaskState, reason?: string): Reported => ({
  state,
  incarnation,
  reason,
});

describe('whether a task may run after a report', () => {
  test.each<{ name: string; given?: Given; reported: Reported; mayRun: boolean }>([
    {
      name: 'its agent is silent: it may',
      reported: toldBy(undefined, 'TASK_UNREACHABLE', 'REASON_AGENT_DISCONNECTED'),
      mayRun: true,
    },
    {
      name: 'its machine is not presented any more: it may',
      reported: toldBy(undefined, 'TASK_LOST', 'REASON_AGENT_REMOVED'),
      mayRun: true,
    },
    {
      name: 'its machine began anew: it does not',
      reported: toldBy(undefined, 'TASK_LOST', 'REASON_AGENT_RESTARTED'),
      mayRun: false,
    },
    {
      name: 'its machine does not have it: it does not',
      reported: toldBy(undefined, 'TASK_LOST', 'REASON_RECONCILIATION'),
      mayRun: false,
    },
    {
      name: 'its machine says itself that it was removed there: it does not',
      reported: toldBy('i1', 'TASK_LOST', 'REASON_AGENT_REMOVED'),
      mayRun: false,
    },
    { name: 'it ended: it does not', reported: toldBy('i1', 'TASK_FINISHED'), mayRun: false },
    { name: 'it is being ended: it is active', reported: toldBy('i1', 'TASK_KILLING'), mayRun: false },
    {
      name: 'given up, its machine says that it ended, whatever is recorded: it does not',
      given: givenUp,
      reported: toldBy('i1', 'TASK_KILLED'),
      mayRun: false,
    },
    {
      name: 'given up, it is killed and not over yet: it may',
      given: givenUp,
      reported: toldBy('i1', 'TASK_KILLING'),
      mayRun: true,
    },
    {
      name: 'given up, its machine has begun anew, and a word of the life before comes late: it does not',
      given: { ...givenUp, isOfFormerLife: true },
      reported: toldBy('i1', 'TASK_RUNNING'),
      mayRun: false,
    },
    {
      name: 'the same after the new life was heard of',
      given: { ...givenUp, mayRun: false, isOfFormerLife: true },
      reported: toldBy('i1', 'TASK_STARTING'),
      mayRun: false,
    },
    {
      name: 'given up, it is given up once more: it may',
      given: givenUp,
      reported: toldBy(undefined, 'TASK_LOST', 'REASON_AGENT_REMOVED'),
      mayRun: true,
    },
    {
      name: 'given up, a former incarnation of its machine tells of its end: that says nothing',
      given: givenUp,
      reported: toldBy('i0', 'TASK_KILLED'),
      mayRun: true,
    },
    {
      name: 'lost for certain, its machine has it all the same: it may',
      given: { ...givenUp, state: 'TASK_LOST', mayRun: false },
      reported: toldBy('i1', 'TASK_RUNNING'),
      mayRun: true,
    },
    {
      name: 'finished, a late sign of life comes: it does not',
      given: { ...givenUp, state: 'TASK_FINISHED', mayRun: false },
      reported: toldBy('i1', 'TASK_RUNNING'),
      mayRun: false,
    },
  ])('$name', ({ given = running, reported, mayRun }) => expect(mayRunAfter(given, reported)).toBe(mayRun));
});

test.each([
  { ended: false, mayRun: false, counts: true },
  { ended: true, mayRun: true, counts: true },
  { ended: true, mayRun: false, counts: false },
])('ended $ended, may run $mayRun: it counts as live: $counts', ({ counts, ...task }) =>
  expect(countsAsLive(task)).toBe(counts),
);

describe('a task that was given up', () => {
  const given = { ended: true, mayRun: true, acknowledged: true };
  test.each<{ name: string; task?: Partial<typeof given>; listed?: TaskState; isGone: boolean }>([
    { name: 'is gone where its machine does not list it', isGone: true },
    { name: 'is gone where its machine lists its end', listed: 'TASK_KILLED', isGone: true },
    { name: 'is not where its machine lists it', listed: 'TASK_RUNNING', isGone: false },
    { name: 'may still come where its launch was never answered', task: { acknowledged: false }, isGone: false },
    { name: 'is gone once only', task: { mayRun: false }, isGone: false },
  ])('$name', ({ task, listed, isGone }) => expect(isGoneByList({ ...given, ...task }, listed)).toBe(isGone));
});
