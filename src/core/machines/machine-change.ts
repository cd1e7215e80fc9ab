import type { FieldError } from '../field-error.js';
import type { MachineState } from '../model/enums.js';
import type { MachineChangeRequest } from '../model/machine.js';
import { isDecommissioning, isInactive } from './machine-state.js';

/** Why a change that lapses cannot be asked for, with `target` the state that it puts the machine into now. */
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
