import { describe, expect, test } from 'vitest';
import { machine, now, pendingTask, placed, rules, scene } from '../../../test/support/placement-scene.js';
import type { Deploy } from '../model/deploy.js';
import { explainPending, explanationText, placeTasks, type PlacementSnapshot, type RequestView } from './index.js';

const strategies: Record<string, Partial<Deploy>> = { old: { deployStrategy: 'OLD_FIRST' }, new: {} };

interface Case {
  /** Strategies of the deploys by id, first the active one. */
  deploys: Record<string, 'old' | 'new'>;
  view?: Partial<RequestView>;
  of?: string;
}

function snapshotOf({ deploys, view, of = 'd1' }: Case): PlacementSnapshot {
  const due = [1, 2, 3].map((number) => pendingTask(number, { deployId: of }));
  return {
    ...scene({ machines: [machine('s1')], due, view: { tasks: [], ...view } }),
    deploys: new Map(
      Object.entries(deploys).map(([id, strategy]) => [
        `svc-${id}`,
        { deploy: { requestId: 'svc', id, command: 'run', ...strategies[strategy] } },
      ]),
    ),
  };
}
const outcomes = (given: Case) =>
  [...placeTasks(snapshotOf(given), rules(), now, 1)].map((one) => (one.kind === 'place' ? 'place' : one.why));

describe('a request of two instances whose old tasks end first', () => {
  const placedOld = { tasks: [placed('s1', 1), placed('s1', 2, { killed: true })] };
  test.each<{ name: string; given: Case; is: string[] }>([
    { name: 'has two live tasks', given: { deploys: { d1: 'old' } }, is: ['place', 'place', 'OLD_FIRST'] },
    {
      name: 'has one place for the end of one',
      given: { deploys: { d1: 'old' }, view: { tasks: [placed('s1', 1)] } },
      is: ['place', 'OLD_FIRST', 'OLD_FIRST'],
    },
    {
      name: 'has no place while a task is being ended',
      given: { deploys: { d1: 'old' }, view: placedOld },
      is: ['OLD_FIRST', 'OLD_FIRST', 'OLD_FIRST'],
    },
    {
      name: 'goes by the deploy in progress',
      given: { deploys: { d1: 'new', d2: 'old' }, view: { ...placedOld, pendingDeploy: { deployId: 'd2' } }, of: 'd2' },
      is: ['OLD_FIRST', 'OLD_FIRST', 'OLD_FIRST'],
    },
    {
      name: 'goes by the deploy in progress, too, where that starts new ones first',
      given: { deploys: { d1: 'old', d2: 'new' }, view: { ...placedOld, pendingDeploy: { deployId: 'd2' } }, of: 'd2' },
      is: ['place', 'place'],
    },
    {
      name: 'goes by the instances that come with the deploy in progress',
      given: {
        deploys: { d1: 'new', d2: 'old' },
        view: {
          ...placedOld,
          pendingDeploy: { deployId: 'd2', updatedRequest: { id: 'svc', requestType: 'SERVICE', instances: 3 } },
        },
        of: 'd2',
      },
      is: ['place', 'OLD_FIRST', 'OLD_FIRST'],
    },
    {
      name: 'waits for the end of the tasks of a failed deploy',
      given: {
        deploys: { d1: 'new', d2: 'old' },
        view: { tasks: [placed('s1', 1), placed('s1', 1, { deployId: 'd2', cleaning: true })] },
      },
      is: ['OLD_FIRST', 'OLD_FIRST', 'OLD_FIRST'],
    },
    {
      name: 'counts a task that was given up and may still run',
      given: { deploys: { d1: 'old' }, view: { tasks: [placed('s1', 1)], givenUp: [placed('s2', 2)] } },
      is: ['OLD_FIRST', 'OLD_FIRST', 'OLD_FIRST'],
    },
    {
      name: 'counts such a task of a former deploy, which makes the active one wait by its strategy',
      given: {
        deploys: { d1: 'new', d2: 'old' },
        view: { tasks: [placed('s1', 1)], givenUp: [placed('s2', 2, { deployId: 'd2' })] },
      },
      is: ['OLD_FIRST', 'OLD_FIRST', 'OLD_FIRST'],
    },
    {
      name: 'has a place for each that is confirmed gone',
      given: { deploys: { d1: 'old' }, view: { tasks: [placed('s1', 1)], givenUp: [] } },
      is: ['place', 'OLD_FIRST', 'OLD_FIRST'],
    },
  ])('$name', ({ given, is }) => expect(outcomes(given).slice(0, is.length)).toEqual(is));

  test('where new ones start first, a task that was given up takes no place', () =>
    expect(
      outcomes({ deploys: { d1: 'new' }, view: { tasks: [placed('s1', 1)], givenUp: [placed('s2', 2)] } }),
    ).toEqual(['place', 'place', 'place']));

  test('explains for what the task waits', () => {
    const snapshot = snapshotOf({ deploys: { d1: 'old' }, view: placedOld });
    const explained = explainPending(snapshot.due[0]!, snapshot, rules(), now);
    expect(explained).toMatchObject({ reason: 'OLD_FIRST', cause: '2 of at most 2 live' });
    expect(explanationText(explained)).toBe(
      'An old task of its request has to end before it starts (deployStrategy OLD_FIRST): 2 of at most 2 live',
    );
  });

  test('explains which task may still run, and what ends the wait', () => {
    const lost = placed('s9', 2);
    const snapshot = snapshotOf({ deploys: { d1: 'old' }, view: { tasks: [placed('s1', 1)], givenUp: [lost] } });
    expect(explainPending(snapshot.due[0]!, snapshot, rules(), now).cause).toBe(
      `2 of at most 2 live, and may still run: '${lost.taskId.id}' on slave 's9', until its slave answers or is removed`,
    );
  });
});
