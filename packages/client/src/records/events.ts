import type { DisasterType } from './disasters.js';
import type { DeployState } from './deploy-progress.js';
import type { RequestEventType } from './history.js';
import type { MachineState } from './machines.js';
import type { CrashLoopType } from './request-groups.js';
import type { TaskState } from './task-ids.js';
import { type Int64, type WordOf, words } from '../schema.js';

/** What events are about. */
export const EventType = words('REQUEST', 'DEPLOY', 'TASK', 'CRASHLOOP', 'SLAVE', 'RACK', 'DISASTER');
export type EventType = WordOf<typeof EventType>;

/** Something that happened. Which members it has depends on its type. */
export interface Event {
  /** What it is about. */
  type: EventType;
  /** When it happened, in epoch milliseconds. */
  at: Int64;
  /** Of REQUEST, DEPLOY, TASK and CRASHLOOP: the request. */
  requestId?: string;
  /** Of DEPLOY, TASK and CRASHLOOP: the deploy. */
  deployId?: string;
  /** Of TASK: the task. */
  taskId?: string;
  /** Of TASK: its state from now on. */
  taskState?: TaskState;
  /** Of REQUEST: what changed; of DEPLOY: STARTING or FINISHED. */
  eventType?: RequestEventType | 'STARTING';
  /** Of DEPLOY that is FINISHED: how it ended. */
  deployState?: DeployState;
  /** Of CRASHLOOP: which kind. */
  crashLoopType?: CrashLoopType;
  /** Of CRASHLOOP: when it began, in epoch milliseconds. */
  start?: Int64;
  /** Of CRASHLOOP: when it was found to be over. */
  end?: Int64;
  /** Of SLAVE and RACK: its id. */
  machineId?: string;
  /** Of SLAVE and RACK: its state from now on; absent: its record was removed. */
  state?: MachineState;
  /** Of DISASTER: which one. */
  disaster?: DisasterType;
  /** Of DISASTER: it began; false: it is over. */
  active?: boolean;
  /** Who caused it, where that is known. */
  user?: string;
  /** What is said about it. */
  message?: string;
  /** Of TASK: why, as the machine says. */
  reason?: string;
}
