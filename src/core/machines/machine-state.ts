import type { MachineState } from '../model/enums.js';

const decommissioning: ReadonlySet<MachineState> = new Set<MachineState>([
  'STARTING_DECOMMISSION',
  'DECOMMISSIONING',
  'DECOMMISSIONED',
]);
export const isDecommissioning = (state: MachineState): boolean => decommissioning.has(state);
/** Not there: never seen since the start, or confirmed gone. */
export const isInactive = (state: MachineState): boolean => state === 'DEAD' || state === 'MISSING_ON_STARTUP';

export type StateChange = 'CHANGED' | 'ALREADY_AT_STATE' | 'ILLEGAL_TRANSITION';

/** May a machine (slave or rack) go from one state to another, whoever wants it? The rules are the same for both kinds. */
export function judgeStateChange(from: MachineState, to: MachineState): StateChange {
  if (from === to) return 'ALREADY_AT_STATE';
  if (to === 'STARTING_DECOMMISSION' && isDecommissioning(from)) return 'ILLEGAL_TRANSITION';
  if (to === 'FROZEN' && isDecommissioning(from)) return 'ILLEGAL_TRANSITION';
  if ((to === 'DECOMMISSIONING' || to === 'DECOMMISSIONED') && (from === 'ACTIVE' || from === 'FROZEN')) {
    return 'ILLEGAL_TRANSITION';
  }
  return 'CHANGED';
}

/** The same for operators: they decommission only what is there. */
export function judgeOperatorChange(from: MachineState, to: MachineState): StateChange {
  return to === 'STARTING_DECOMMISSION' && isInactive(from) ? 'ILLEGAL_TRANSITION' : judgeStateChange(from, to);
}

/** The same for a change that lapses: a machine that is gone stays gone until it is seen. */
export function judgeRevert(from: MachineState, to: MachineState): StateChange {
  return isInactive(from) ? 'ILLEGAL_TRANSITION' : judgeStateChange(from, to);
}
