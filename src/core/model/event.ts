import type { CrashLoopType, DeployState, DisasterType, MachineState, RequestEventType, TaskState } from './enums.js';

export const eventTypes = ['REQUEST', 'DEPLOY', 'TASK', 'CRASHLOOP', 'SLAVE', 'RACK', 'DISASTER'] as const;
export type EventType = (typeof eventTypes)[number];

interface OfRequest {
  /** Epoch milliseconds at which it happened. */
  at: number;
  requestId: string;
}

export interface RequestChanged extends OfRequest {
  type: 'REQUEST';
  eventType: RequestEventType;
  user?: string;
  message?: string;
}

export interface DeployChanged extends OfRequest {
  type: 'DEPLOY';
  deployId: string;
  eventType: 'STARTING' | 'FINISHED';
  /** Once it is finished. */
  deployState?: DeployState;
  user?: string;
  message?: string;
}

export interface TaskChanged extends OfRequest {
  type: 'TASK';
  deployId: string;
  taskId: string;
  taskState: TaskState;
  message?: string;
  /** REASON_... */
  reason?: string;
}

export interface CrashLoopChanged extends OfRequest {
  type: 'CRASHLOOP';
  deployId: string;
  crashLoopType: CrashLoopType;
  start: number;
  /** Absent: it goes on. */
  end?: number;
}

export interface MachineChanged {
  type: 'SLAVE' | 'RACK';
  at: number;
  machineId: string;
  /** Absent: its record was removed. */
  state?: MachineState;
  user?: string;
  message?: string;
}

export interface DisasterChanged {
  type: 'DISASTER';
  at: number;
  disaster: DisasterType;
  active: boolean;
}

/** Something that happened, as the event stream tells it. */
export type LiveEvent =
  RequestChanged | DeployChanged | TaskChanged | CrashLoopChanged | MachineChanged | DisasterChanged;

/** As it is written down: what the id of a task says is not said twice. */
export type WrittenEvent = Exclude<LiveEvent, TaskChanged> | Omit<TaskChanged, 'requestId' | 'deployId'>;
