import { type Int32, type Int64, record, type WordOf, words } from '../schema.js';

/** What can be switched off, and what webhooks of elevated access tell of. */
export const ActionType = words(
  'BOUNCE_REQUEST',
  'SCALE_REQUEST',
  'PRIORITY_REQUEST',
  'REMOVE_REQUEST',
  'CREATE_REQUEST',
  'UPDATE_REQUEST',
  'VIEW_REQUEST',
  'PAUSE_REQUEST',
  'KILL_TASK',
  'BOUNCE_TASK',
  'RUN_SHELL_COMMAND',
  'ADD_METADATA',
  'DEPLOY',
  'CANCEL_DEPLOY',
  'ADD_WEBHOOK',
  'REMOVE_WEBHOOK',
  'VIEW_WEBHOOKS',
  'TASK_RECONCILIATION',
  'STARTUP_TASK_RECONCILIATION',
  'RUN_HEALTH_CHECKS',
  'ADD_DISASTER',
  'REMOVE_DISASTER',
  'DISABLE_ACTION',
  'ENABLE_ACTION',
  'VIEW_DISASTERS',
  'FREEZE_SLAVE',
  'ACTIVATE_SLAVE',
  'DECOMMISSION_SLAVE',
  'VIEW_SLAVES',
  'FREEZE_RACK',
  'ACTIVATE_RACK',
  'DECOMMISSION_RACK',
  'VIEW_RACKS',
  'SEND_EMAIL',
  'PROCESS_OFFERS',
  'CACHE_OFFERS',
  'EXPENSIVE_API_CALLS',
  'RUN_CLEANUP_POLLER',
  'RUN_DEPLOY_POLLER',
  'RUN_SCHEDULER_POLLER',
  'RUN_EXPIRING_ACTION_POLLER',
  'RUN_UPSTREAM_POLLER',
  'TASK_SHUFFLE',
);
export type ActionType = WordOf<typeof ActionType>;

/** The kinds of disasters. */
export const DisasterType = words('EXCESSIVE_TASK_LAG', 'LOST_SLAVES', 'LOST_TASKS', 'USER_INITIATED');
export type DisasterType = WordOf<typeof DisasterType>;

/** Why an action is switched off. */
export interface DisabledActionRequest {
  /** Ignored: the path says which action. */
  type?: ActionType;
  /** The reason, told to each caller who tries the action. */
  message?: string;
}
export const DisabledActionRequest = record<DisabledActionRequest>('DisabledActionRequest');

/** An action that is switched off. */
export interface DisabledAction {
  /** The action. */
  type: ActionType;
  /** When it comes back at the latest, in epoch milliseconds; absent: an operator has to enable it. */
  expiresAt?: Int64;
  /** What those are told who try it. */
  message: string;
  /** Id of the user who switched it off; absent when a disaster did. */
  user?: string;
  /** Whether it comes back by itself when no disaster is left. */
  automaticallyClearable: boolean;
}
export const DisabledAction = record<DisabledAction>('DisabledAction');

/** A kind of disaster. */
export interface Disaster {
  /** The kind. */
  type: DisasterType;
  /** Whether there is one now. */
  active: boolean;
}

/** The cluster in figures at one moment. */
export interface DisasterDataPoint {
  /** When, in epoch milliseconds. */
  timestamp: Int64;
  /** Tasks launched and not ended. */
  numActiveTasks: Int32;
  /** Tasks that wait for their time or for a machine. */
  numPendingTasks: Int32;
  /** Of these, those that are overdue for longer than tolerated. */
  numLateTasks: Int32;
  /** How long overdue tasks have been waiting on average, in milliseconds. */
  avgTaskLagMillis: Int64;
  /** Tasks lost since the moment before, for reasons that count. */
  numLostTasks: Int32;
  /** Slaves that are neither DEAD nor MISSING_ON_STARTUP. */
  numActiveSlaves: Int32;
  /** Slaves lost since the moment before. */
  numLostSlaves: Int32;
  /** The same as numActiveSlaves. An addition of version 1.5 of this API. */
  numActiveAgents: Int32;
  /** The same as numLostSlaves. An addition of version 1.5 of this API. */
  numLostAgents: Int32;
}

export interface DisastersData {
  /** @deprecated Older name of disasters. Answers never have it. */
  disasterStates?: Disaster[];
  /** @deprecated Older name of automatedActionsDisabled. Answers never have it. */
  automatedActionDisabled?: boolean;
  /** Figures of the last moments, newest first. */
  stats: DisasterDataPoint[];
  /** Every kind of disaster. */
  disasters: Disaster[];
  /** Whether the detection must not switch actions off. */
  automatedActionsDisabled: boolean;
}
export const DisastersData = record<DisastersData>('DisastersData');

/** Which tasks are not started. */
export interface PriorityFreeze {
  /** Tasks of requests with a lower priority wait. Above 0, at most 1. */
  minimumPriorityLevel: number;
  /** Why; told to those whose deploys and bounces are refused. */
  message?: string;
  /** An id of your own for this action; made up when absent. */
  actionId?: string;
  /**
   * Time in milliseconds after which the freeze ends by itself; absent: it stays until it is deleted. An addition of
   * Muster.
   */
  durationMillis?: Int64;
  /** Whether tasks with a lower priority that run already are killed. */
  killTasks?: boolean;
}
export const PriorityFreeze = record<PriorityFreeze>('PriorityFreeze');

/** A priority freeze in force. */
export interface PriorityFreezeParent {
  /** Since when it is in force, in epoch milliseconds. */
  timestamp: Int64;
  /** The freeze. */
  priorityFreeze: PriorityFreeze;
  /** Who made it. */
  user?: string;
}
export const PriorityFreezeParent = record<PriorityFreezeParent>('PriorityFreezeParent');
