import type { MachineState } from '../model/enums.js';
import type { MachineKind, OperatorState } from '../model/machine.js';
import { isInactive, judgeOperatorChange, judgeRevert, type StateChange } from './machine-state.js';

/** Whatever can happen to the state of a slave or rack. */
export type MachineEvent =
  /** The cluster has it. hostIsInactive: operators said that nothing is to run on its host. */
  | { kind: 'seen'; hostIsInactive: boolean }
  /** Confirmed gone; of a rack: the last ACTIVE slave in it is. */
  | { kind: 'lost' }
  /** The cluster does not list it: in the first comparison of a leader, or in a later one. */
  | { kind: 'unlisted'; machine: MachineKind; atStart: boolean }
  | { kind: 'asked'; state: OperatorState }
  | { kind: 'lapsed'; revertToState: MachineState }
  /** Its tasks were told to go, or one of them ended. */
  | { kind: 'drained'; tasksLeft: number };

export type MachineStep =
  | { kind: 'enter'; state: MachineState }
  | { kind: 'stay' }
  | { kind: 'refuse'; because: Exclude<StateChange, 'CHANGED'> };

const stay: MachineStep = { kind: 'stay' };
const enter = (state: MachineState): MachineStep => ({ kind: 'enter', state });

/** What an event makes of a machine. `from` undefined: it was not known. */
export function nextMachineStep(from: MachineState | undefined, event: MachineEvent): MachineStep {
  if (event.kind === 'seen') return whenSeen(from, event.hostIsInactive);
  if (from === undefined) return stay;
  switch (event.kind) {
    case 'lost':
      return from === 'DEAD' ? stay : enter('DEAD');
    case 'unlisted':
      return whenUnlisted(from, event.machine, event.atStart);
    case 'asked':
      return judged(judgeOperatorChange(from, event.state), event.state);
    case 'lapsed':
      return judged(judgeRevert(from, event.revertToState), event.revertToState);
    case 'drained':
      return whenDrained(from, event.tasksLeft);
  }
}

/** Whoever is new or was gone begins anew; what an operator decided stays. */
function whenSeen(from: MachineState | undefined, hostIsInactive: boolean): MachineStep {
  if (from !== undefined && !isInactive(from)) return stay;
  return enter(hostIsInactive ? 'STARTING_DECOMMISSION' : 'ACTIVE');
}

/** FROZEN machines and those in decommission are left alone: an operator looks after them. */
function whenUnlisted(from: MachineState, machine: MachineKind, atStart: boolean): MachineStep {
  if (from === 'ACTIVE') return enter(atStart ? 'MISSING_ON_STARTUP' : 'DEAD');
  const isDone = from === 'DECOMMISSIONED' && machine === 'SLAVE';
  return isDone && atStart ? enter('MISSING_ON_STARTUP') : stay;
}

function whenDrained(from: MachineState, tasksLeft: number): MachineStep {
  if (from === 'STARTING_DECOMMISSION') return enter(tasksLeft > 0 ? 'DECOMMISSIONING' : 'DECOMMISSIONED');
  return from === 'DECOMMISSIONING' && tasksLeft === 0 ? enter('DECOMMISSIONED') : stay;
}

const judged = (change: StateChange, state: MachineState): MachineStep =>
  change === 'CHANGED' ? enter(state) : { kind: 'refuse', because: change };

/** Can a change that lapses still be taken back, now that the machine is in this state? */
export const canLapse = (state: MachineState, revertToState: MachineState): boolean =>
  judgeRevert(state, revertToState) === 'CHANGED';
