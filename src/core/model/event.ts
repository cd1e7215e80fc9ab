import type { GateState } from './gate.js';
import type { CrashLoopType, DeployState, DisasterType, MachineState, RequestEventType, TaskState } from './enums.js';

export const eventTypes = [
  'REQUEST',
  'DEPLOY',
  'PENDING',
  'TASK',
  'HEALTH',
  'CRASHLOOP',
  'SLAVE',
  'RACK',
  'DISASTER',
] as const;
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
  /** STEP: its progress, or what it is asked for, has changed; GATE: a gate was opened, measured or decided. */
  eventType: 'STARTING' | 'STEP' | 'GATE' | 'FINISHED';
  /** Of GATE: number of the step and of the gate, and its state from now on. */
  step?: number;
  gate?: number;
  gateState?: GateState;
  /** Once it is finished. */
  deployState?: DeployState;
  user?: string;
  message?: string;
}

export const pendingEventTypes = ['QUEUED', 'WAITING', 'REMOVED'] as const;
export type PendingEventType = (typeof pendingEventTypes)[number];

/** Tasks of a deploy that wait: one event tells of all that changed together. */
export interface PendingChanged extends OfRequest {
  type: 'PENDING';
  deployId: string;
  /** QUEUED: they are there; WAITING: they are due and not placed, or no longer for the same reason; REMOVED: they were taken back. */
  eventType: PendingEventType;
  /** How many. */
  tasks: number;
  /** Of WAITING: a waiting reason, and the sentence that tells it. */
  reason?: string;
  message?: string;
}

export const healthEventTypes = ['UNHEALTHY', 'RECOVERED', 'LEAVING'] as const;
export type HealthEventType = (typeof healthEventTypes)[number];

/** A task has passed its health checks; UNHEALTHY, RECOVERED: its liveness has changed; LEAVING: it gets no more calls, and is ended. */
export interface HealthChanged extends OfRequest {
  type: 'HEALTH';
  deployId: string;
  taskId: string;
  eventType?: HealthEventType;
  /** Result of the last check; of LEAVING: type of its cleanup. */
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
  | RequestChanged
  | DeployChanged
  | PendingChanged
  | TaskChanged
  | HealthChanged
  | CrashLoopChanged
  | MachineChanged
  | DisasterChanged;

type OfTask = TaskChanged | HealthChanged;

/** As it is written down: what the id of a task says is not said twice. */
export type WrittenEvent =
  | Exclude<LiveEvent, OfTask>
  | Omit<TaskChanged, 'requestId' | 'deployId'>
  | Omit<HealthChanged, 'requestId' | 'deployId'>;
