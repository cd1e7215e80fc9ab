import type { ExtendedResources } from './deploy-spec.js';
import type { MachineState } from './enums.js';
import type { LapsingAction } from './request.js';

/** Slaves and racks go through the same states by the same rules. */
export type MachineKind = 'SLAVE' | 'RACK';
/** States into which operators can put a machine. */
export type OperatorState = 'ACTIVE' | 'FROZEN' | 'STARTING_DECOMMISSION';

export interface Slave {
  firstSeenAt: number;
  currentState: MachineStateHistoryUpdate;
  host: string;
  rackId: string;
  attributes: Record<string, string>;
  resources?: ClusterResourcesObject;
  id: string;
}

export interface Rack {
  firstSeenAt: number;
  currentState: MachineStateHistoryUpdate;
  id: string;
}

export interface MachineStateHistoryUpdate {
  objectId: string;
  state: MachineState;
  timestamp: number;
  user?: string;
  message?: string;
}

export interface MachineChangeRequest extends LapsingAction {
  revertToState?: MachineState;
  killTasksOnDecommissionTimeout?: boolean;
}

export interface ExpiringMachineState {
  user?: string;
  startMillis?: number;
  actionId?: string;
  expiringAPIRequestObject?: MachineChangeRequest;
  machineId?: string;
  revertToState?: MachineState;
  killTasksOnDecommissionTimeout?: boolean;
}

export interface ClusterResourcesObject {
  cpus?: number;
  mem?: number;
  disk?: number;
  ports?: string;
  extended?: ExtendedResources;
  maxTasks?: number;
}
