import type { RejectionReason } from './checks.js';
import type { Explanation, WaitingReason } from './explain.js';

const rejectionTexts: Record<RejectionReason, string> = {
  SLAVE_UNKNOWN: 'not known yet',
  SLAVE_INACTIVE: 'dead or missing',
  SLAVE_FROZEN: 'frozen',
  SLAVE_DECOMMISSIONING: 'being decommissioned',
  RACK_INACTIVE: 'in a dead rack',
  RACK_FROZEN: 'in a frozen rack',
  RACK_DECOMMISSIONING: 'in a rack that is being decommissioned',
  RACK_AFFINITY_NOT_MATCHING: 'in another rack than wanted',
  SLAVE_ATTRIBUTES_DO_NOT_MATCH: 'without the right attributes',
  SLAVE_ATTRIBUTE_MINIMUMS: 'needed by others for an attribute minimum',
  NOT_ENOUGH_CPUS: 'too small in cpus',
  NOT_ENOUGH_MEMORY: 'too small in memory',
  NOT_ENOUGH_DISK: 'too small in disk',
  NOT_ENOUGH_PORTS: 'without enough free ports',
  TOO_MANY_TASKS_THIS_ROUND: 'at their limit of this round',
  RACK_SATURATED: 'in a rack with its share of the tasks',
  SLAVE_SATURATED: 'at their limit of tasks of this request',
  SLAVE_USAGE_UNKNOWN: 'without a sample of their use',
  SLAVE_OVERLOADED: 'too busy',
};

const reasonTexts: Record<Exclude<WaitingReason, 'NO_MATCHING_SLAVE' | 'PLACEABLE'>, string> = {
  NOT_DUE: 'Its time has not come',
  COOLDOWN: 'Its request cools down after failures, and its time has not come',
  REQUEST_GONE: 'Its request is gone; it is about to be removed',
  REQUEST_NOT_RUNNABLE: 'Its request is paused, finished or being deleted',
  DEPLOY_GONE: 'Its deploy is gone; it is about to be removed',
  DEPLOY_NOT_IN_USE: 'Its deploy is no longer in use; it is about to be removed',
  PLACEMENT_DISABLED: 'Placing tasks is disabled (PROCESS_OFFERS)',
  PRIORITY_FREEZE: 'A priority freeze holds back tasks of its priority level',
  INSTANCE_LIMIT: 'As many runs of its request are active as may be',
};

/** The explanation as a sentence for people. */
export function explanationText({ reason, slaves, fitting, rejections }: Explanation): string {
  if (reason === 'PLACEABLE') return `Fits on ${fitting} of ${slaves} slaves; it is placed in the next round`;
  if (reason !== 'NO_MATCHING_SLAVE') return reasonTexts[reason];
  if (slaves === 0) return 'There is no slave';
  const parts = rejections.map((rejection) => `${rejection.slaves} ${rejectionTexts[rejection.reason]}`);
  return `No slave of ${slaves} can take it: ${parts.join(', ')}`;
}
