import { actionTypes, type ActionType, type DisasterType } from '../model/enums.js';
import type { DisabledAction } from '../model/state.js';

/** Nothing asks whether these are switched off, so they must not seem to be. */
const alwaysAllowed: ReadonlySet<ActionType> = new Set<ActionType>([
  'VIEW_REQUEST',
  'PAUSE_REQUEST',
  'ADD_DISASTER',
  'REMOVE_DISASTER',
  'DISABLE_ACTION',
  'ENABLE_ACTION',
  'VIEW_DISASTERS',
  'VIEW_SLAVES',
  'VIEW_RACKS',
]);
export const canBeDisabled = (action: ActionType): boolean => !alwaysAllowed.has(action);
export const disableableActions: readonly ActionType[] = actionTypes.filter(canBeDisabled);

/** Callers that try the action are told this. */
export const disabledMessage = (action: ActionType, reason: string | undefined): string =>
  reason ? `Action ${action} is disabled: ${reason}` : `Action ${action} is disabled for now`;

/** Actions on a request whose service asks for the group of the request: these may be switched off for all but some groups. */
export const mayExceptGroups = (action: ActionType): boolean => action === 'DEPLOY';

/** True for requests of a group that the action is not switched off for. */
export const isExcepted = (
  { exceptGroups = [] }: Pick<DisabledAction, 'exceptGroups'>,
  group: string | undefined,
): boolean => group !== undefined && exceptGroups.includes(group);

export const hasExpired = ({ expiresAt }: Pick<DisabledAction, 'expiresAt'>, now: number): boolean =>
  expiresAt !== undefined && expiresAt <= now;

export interface DisableRules {
  actions: readonly ActionType[];
  /** Time for which actions stay off when all disasters end by themselves. */
  expirationMillis: number;
}

/** A disaster that ends without an operator: tasks no longer start late. */
const clearsItself = (type: DisasterType): boolean => type === 'EXCESSIVE_TASK_LAG';

/**
 * Actions to switch off because of these disasters. When one of them does not end by itself, an operator has to decide.
 */
export function actionsToDisable(
  disasters: readonly DisasterType[],
  { actions, expirationMillis }: DisableRules,
  now: number,
): DisabledAction[] {
  if (disasters.length === 0) return [];
  const clearable = disasters.every(clearsItself);
  return actions.map((type) => ({
    type,
    message: disabledMessage(type, `because of ${disasters.join(', ')}`),
    automaticallyClearable: clearable,
    expiresAt: clearable ? now + expirationMillis : undefined,
  }));
}
