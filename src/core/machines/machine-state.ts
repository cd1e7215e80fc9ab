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

/** May a machine (slave or rack) go from one state to another? The rules are the same for both kinds. */
export function judgeStateChange(from: MachineState, to: MachineState): StateChange {
  if (from === to) return 'ALREADY_AT_STATE';
  if (to === 'STARTING_DECOMMISSION' && (isDecommissioning(from) || isInactive(from))) return 'ILLEGAL_TRANSITION';
  if (to === 'FROZEN' && isDecommissioning(from)) return 'ILLEGAL_TRANSITION';
  if ((to === 'DECOMMISSIONING' || to === 'DECOMMISSIONED') && (from === 'ACTIVE' || from === 'FROZEN')) {
    return 'ILLEGAL_TRANSITION';
  }
  return 'CHANGED';
}

/** The state of a machine that has just answered: whoever was gone is back, what an operator decided stays. */
export const stateWhenSeen = (known: MachineState | undefined): MachineState =>
  known === undefined || isInactive(known) ? 'ACTIVE' : known;
