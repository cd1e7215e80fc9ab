import type { ActionType, DisasterType } from './enums.js';

/** An action that is switched off. */
export interface DisabledAction {
  type: ActionType;
  /** What callers are told who try it. */
  message: string;
  user?: string;
  /** Switched on again by itself when no disaster is left. */
  automaticallyClearable: boolean;
  /** Epoch milliseconds from which on it does not count any more. */
  expiresAt?: number;
}

export interface Disaster {
  type: DisasterType;
  active: boolean;
}

/** The cluster in figures at one moment. Losses are those since the point before. */
export interface DisasterDataPoint {
  /** Epoch milliseconds. */
  timestamp: number;
  numActiveTasks: number;
  numPendingTasks: number;
  /** Pending tasks that are overdue for longer than tolerated. */
  numLateTasks: number;
  /** Over all that are overdue. */
  avgTaskLagMillis: number;
  numLostTasks: number;
  numActiveSlaves: number;
  numLostSlaves: number;
}

export interface DisastersData {
  /** Newest first. */
  stats: DisasterDataPoint[];
  disasters: Disaster[];
  automatedActionsDisabled: boolean;
}
