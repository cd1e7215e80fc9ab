import { type Int64, record, type WordOf, words } from '../schema.js';

/** What a slave or a rack does. */
export const MachineState = words(
  'MISSING_ON_STARTUP',
  'ACTIVE',
  'STARTING_DECOMMISSION',
  'DECOMMISSIONING',
  'DECOMMISSIONED',
  'DEAD',
  'FROZEN',
);
export type MachineState = WordOf<typeof MachineState>;

/** A state that a slave or rack came to. */
export interface MachineStateHistoryUpdate {
  /** The state. */
  state: MachineState;
  /** When, in epoch milliseconds. */
  timestamp: Int64;
  /** Id of the slave or rack. */
  objectId: string;
  /** Who put it there; absent when the cluster did. */
  user?: string;
  /** Why. */
  message?: string;
}
export const MachineStateHistoryUpdate = record<MachineStateHistoryUpdate>('MachineStateHistoryUpdate');

/** What a slave offers in all. */
export interface ClusterResourcesObject {
  /** Cores. */
  cpus?: number;
  /** Memory in MB. */
  mem?: number;
  /** Disk in MB. */
  disk?: number;
  /** Ranges of ports, such as "[31000-31999]". */
  ports?: string;
}

/** A machine that runs tasks. */
export interface Slave {
  /** When it was seen first, in epoch milliseconds. */
  firstSeenAt: Int64;
  /** Its attributes, by which requests choose slaves. */
  attributes: Record<string, string>;
  /** @deprecated Older name of id. Answers never have it. */
  slaveId?: string;
  /** Its state, and since when. */
  currentState: MachineStateHistoryUpdate;
  /** Name of the host. */
  host: string;
  /** Rack that it stands in. */
  rackId: string;
  /** What it offers to tasks in all. */
  resources?: ClusterResourcesObject;
  /** Its id. */
  id: string;
}
export const Slave = record<Slave>('Slave');

/** A group of machines that may fail together. */
export interface Rack {
  /** When it was seen first, in epoch milliseconds. */
  firstSeenAt: Int64;
  /** @deprecated Older name of id. Answers never have it. */
  rackId?: string;
  /** Its state, and since when. */
  currentState: MachineStateHistoryUpdate;
  /** Its id. */
  id: string;
}
export const Rack = record<Rack>('Rack');

/** How the state of a slave or rack is to be changed. */
export interface MachineChangeRequest {
  /** Time after which the change lapses; absent: it stays. */
  durationMillis?: Int64;
  /** An id of your own for this action. */
  actionId?: string;
  /** Why; kept with the state. */
  message?: string;
  /** State to go to when the change lapses; required together with durationMillis. */
  revertToState?:
    | 'MISSING_ON_STARTUP'
    | 'ACTIVE'
    | 'STARTING_DECOMMISSION'
    | 'DECOMMISSIONING'
    | 'DECOMMISSIONED'
    | 'DEAD'
    | 'FROZEN';
  /** When the change lapses into DECOMMISSIONED, kill the tasks that are left. */
  killTasksOnDecommissionTimeout?: boolean;
}
export const MachineChangeRequest = record<MachineChangeRequest>('MachineChangeRequest');

/** A change of a slave or rack that lapses. */
export interface ExpiringMachineState {
  /** When, in epoch milliseconds. */
  startMillis?: Int64;
  /** State it goes to when the change lapses. */
  revertToState?: MachineState;
  /** Who made it. */
  user?: string;
  /** Id of the action. */
  actionId?: string;
  /** What was asked for. */
  expiringAPIRequestObject?: MachineChangeRequest;
  /** The slave or rack. */
  machineId?: string;
  /** Whether tasks that are left then are killed. */
  killTasksOnDecommissionTimeout?: boolean;
}
export const ExpiringMachineState = record<ExpiringMachineState>('ExpiringMachineState');

/** The same of a slave; machineId is the slave. */
export interface ExpiringSlaveState {
  /** When, in epoch milliseconds. */
  startMillis?: Int64;
  /** State it goes to when the change lapses. */
  revertToState?: MachineState;
  /** Who made it. */
  user?: string;
  /** Id of the action. */
  actionId?: string;
  /** What was asked for. */
  expiringAPIRequestObject?: MachineChangeRequest;
  /** The slave or rack. */
  machineId?: string;
  /** Whether tasks that are left then are killed. */
  killTasksOnDecommissionTimeout?: boolean;
}
