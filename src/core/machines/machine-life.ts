import type { FieldError } from '../field-error.js';
import type { MachineState } from '../model/enums.js';
import type { MachineChangeRequest, MachineKind, OperatorState } from '../model/machine.js';

/** Events that change the state of a slave or rack. */
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

/** Decides the next state of a machine after an event. `from` undefined: it was not known. */
export function nextMachineStep(from: MachineState | undefined, event: MachineEvent): MachineStep {
  if (event.kind === 'seen') return whenSeen(from, event.hostIsInactive);
  if (from === undefined) return stay;
  switch (event.kind) {
    case 'lost':
      return from === 'DEAD' ? stay : enter('DEAD');
    case 'unlisted':
      return whenUnlisted(from, event.machine, event.atStart);
    case 'asked':
      return judged(judgeOrder(from, event.state), event.state);
    case 'lapsed':
      return judged(judgeOrder(from, event.revertToState), event.revertToState);
    case 'drained':
      return whenDrained(from, event.tasksLeft);
  }
}

/** A machine that is new or was gone begins anew; what an operator decided stays. */
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
  judgeOrder(state, revertToState) === 'CHANGED';

const decommissioning: ReadonlySet<MachineState> = new Set<MachineState>([
  'STARTING_DECOMMISSION',
  'DECOMMISSIONING',
  'DECOMMISSIONED',
]);
export const isDecommissioning = (state: MachineState): boolean => decommissioning.has(state);
/** States of machines that are not there: never seen since the start, or confirmed gone. */
export const inactiveStates: readonly MachineState[] = ['DEAD', 'MISSING_ON_STARTUP'];
export const isInactive = (state: MachineState): boolean => inactiveStates.includes(state);

export type StateChange = 'CHANGED' | 'ALREADY_AT_STATE' | 'ILLEGAL_TRANSITION';

/** May a machine (slave or rack) go from one state to another, whatever the reason? The rules are the same for both kinds. */
export function judgeStateChange(from: MachineState, to: MachineState): StateChange {
  if (from === to) return 'ALREADY_AT_STATE';
  if (to === 'STARTING_DECOMMISSION' && isDecommissioning(from)) return 'ILLEGAL_TRANSITION';
  if (to === 'FROZEN' && isDecommissioning(from)) return 'ILLEGAL_TRANSITION';
  if ((to === 'DECOMMISSIONING' || to === 'DECOMMISSIONED') && (from === 'ACTIVE' || from === 'FROZEN')) {
    return 'ILLEGAL_TRANSITION';
  }
  return 'CHANGED';
}

/**
 * Decides about a state that an operator asks for, or asked for until now: a machine that is gone stays gone until it
 * is seen.
 */
export function judgeOrder(from: MachineState, to: MachineState): StateChange {
  return isInactive(from) ? 'ILLEGAL_TRANSITION' : judgeStateChange(from, to);
}

/** Reason why a change that expires is refused, with `target` the state that it puts the machine into now. */
export function checkLapsingChange(target: MachineState, change: MachineChangeRequest): FieldError | undefined {
  if (change.durationMillis === undefined) return undefined;
  const { revertToState } = change;
  if (revertToState === undefined) return problem('required', 'is required together with durationMillis');
  if (isInactive(revertToState) || revertToState === 'DECOMMISSIONING') {
    return problem('reserved', `cannot be ${revertToState}: only the service itself puts machines into that state`);
  }
  if (revertToState === 'DECOMMISSIONED') {
    if (!isDecommissioning(target)) return impossible(target, revertToState);
    if (!change.killTasksOnDecommissionTimeout) {
      return problem('killTasks', 'can be DECOMMISSIONED only with killTasksOnDecommissionTimeout');
    }
  }
  const backToDrain = revertToState === 'STARTING_DECOMMISSION' || revertToState === 'FROZEN';
  return backToDrain && isDecommissioning(target) ? impossible(target, revertToState) : undefined;
}

const problem = (rule: string, text: string): FieldError => ({
  field: 'revertToState',
  rule,
  message: `revertToState ${text}`,
});
const impossible = (target: MachineState, revert: MachineState): FieldError =>
  problem('transition', `cannot be ${revert}: a machine does not go there from ${target}`);
