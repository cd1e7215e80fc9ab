/** What operators have switched off. */
export abstract class DisabledActions {
  abstract isDisabled(action: 'TASK_SHUFFLE'): Promise<boolean>;
}
