import fc from 'fast-check';
import { expect, test } from 'vitest';
import { machineStates, type MachineState } from '../model/enums.js';
import { canLapse, checkLapsingChange, type MachineEvent, nextMachineStep } from './machine-life.js';

/** Written out pair by pair, so that the rules are not compared with themselves. */
const forbidden = new Set([
  'ACTIVE>DECOMMISSIONING',
  'ACTIVE>DECOMMISSIONED',
  'FROZEN>DECOMMISSIONING',
  'FROZEN>DECOMMISSIONED',
  'STARTING_DECOMMISSION>FROZEN',
  'DECOMMISSIONING>FROZEN',
  'DECOMMISSIONED>FROZEN',
  'DECOMMISSIONING>STARTING_DECOMMISSION',
  'DECOMMISSIONED>STARTING_DECOMMISSION',
]);

const anyState = fc.constantFrom(...machineStates);
const anyEvent: fc.Arbitrary<MachineEvent> = fc.oneof(
  fc.record({ kind: fc.constant('seen' as const), hostIsInactive: fc.boolean() }),
  fc.constant({ kind: 'lost' } as const),
  fc.record({
    kind: fc.constant('unlisted' as const),
    machine: fc.constantFrom('SLAVE' as const, 'RACK' as const),
    atStart: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('asked' as const),
    state: fc.constantFrom('ACTIVE' as const, 'FROZEN' as const, 'STARTING_DECOMMISSION' as const),
  }),
  fc.record({ kind: fc.constant('lapsed' as const), revertToState: anyState }),
  fc.record({ kind: fc.constant('drained' as const), tasksLeft: fc.nat(2) }),
);
const anyLife = fc.array(anyEvent, { maxLength: 60 });

/** Every state that the machine came to, the first one included. */
function live(events: readonly MachineEvent[]): MachineState[] {
  const states: MachineState[] = [];
  for (const event of events) {
    const step = nextMachineStep(states.at(-1), event);
    if (step.kind === 'enter') states.push(step.state);
  }
  return states;
}

test('no sequence of events makes an illegal transition, or one to the same state', () =>
  fc.assert(
    fc.property(anyLife, (events) => {
      const states = live(events);
      for (const [index, to] of states.slice(1).entries()) {
        expect(to).not.toBe(states[index]);
        expect(forbidden).not.toContain(`${states[index]}>${to}`);
      }
    }),
  ));

test('a life begins when the machine is seen first: ACTIVE, or decommissioned on an inactive host', () =>
  fc.assert(
    fc.property(anyLife, (events) => {
      const first = events.find((event) => event.kind === 'seen');
      const expected = first && (first.hostIsInactive ? 'STARTING_DECOMMISSION' : 'ACTIVE');
      expect(live(events)[0]).toBe(expected);
    }),
  ));

test('a machine that is seen is there, whatever happened before', () =>
  fc.assert(
    fc.property(anyLife, (events) => {
      const states = live([...events, { kind: 'seen', hostIsInactive: false }]);
      expect(['DEAD', 'MISSING_ON_STARTUP']).not.toContain(states.at(-1));
    }),
  ));

test('an event that is told twice changes nothing more, but for drained and refused ones', () =>
  fc.assert(
    fc.property(anyLife, anyEvent, (events, event) => {
      fc.pre(event.kind !== 'drained' && event.kind !== 'lapsed');
      const once = live([...events, event]);
      expect(live([...events, event, event])).toEqual(once);
    }),
  ));

test('only an operator, or a host that is marked, begins a decommission', () =>
  fc.assert(
    fc.property(anyLife, (events) => {
      const own = events.filter(
        (event) =>
          event.kind !== 'lapsed' &&
          !(event.kind === 'asked' && event.state === 'STARTING_DECOMMISSION') &&
          !(event.kind === 'seen' && event.hostIsInactive),
      );
      for (const state of live(own)) expect(state).not.toMatch(/DECOMMISSION/);
    }),
  ));

test('a lapsing change that may be asked for can be taken back from the state it leads to', () =>
  fc.assert(
    fc.property(
      fc.constantFrom('ACTIVE' as const, 'FROZEN' as const, 'STARTING_DECOMMISSION' as const),
      anyState,
      fc.boolean(),
      (target, revertToState, killTasksOnDecommissionTimeout) => {
        const change = { durationMillis: 1, revertToState, killTasksOnDecommissionTimeout };
        fc.pre(target !== revertToState && checkLapsingChange(target, change) === undefined);
        expect(canLapse(target, revertToState)).toBe(true);
      },
    ),
  ));
