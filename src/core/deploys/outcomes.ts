import type { DeployFailure } from '../model/deploy.js';
import type { DeployOutcome, DeployView } from './view.js';

export const succeeded = (message?: string): DeployOutcome => ({
  deployState: 'SUCCEEDED',
  message,
  deployFailures: [],
});

/**
 * A deploy that did not make it. A single failure that belongs to no task says all there is to say, so its text becomes
 * the message.
 */
export function unsuccessful(
  deployState: 'FAILED' | 'OVERDUE' | 'CANCELED' | 'FAILED_INTERNAL_STATE',
  message: string | undefined,
  failures: readonly DeployFailure[] = [],
): DeployOutcome {
  const [first] = failures;
  if (failures.length === 1 && first && !first.taskId) {
    return { deployState, message: first.message ?? message, deployFailures: [] };
  }
  return { deployState, message, deployFailures: [...failures] };
}

export function canceled({ cancel }: DeployView): DeployOutcome {
  const by = cancel?.user ? ` by ${cancel.user}` : '';
  const message = `Canceled${by} at ${new Date(cancel!.requestedAt).toISOString()}`;
  return { deployState: 'CANCELED', message, deployFailures: [] };
}
