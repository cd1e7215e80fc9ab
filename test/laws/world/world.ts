import type { SimulatedCluster } from '../../support/simulated-cluster/simulated-cluster.js';
import type { MachineState, PendingType, RequestState, TaskState } from '../../../src/core/model/enums.js';
import type { Deploy } from '../../../src/core/model/deploy.js';
import type { Request } from '../../../src/core/model/request.js';
import type { TaskId } from '../../../src/core/model/task.js';
import type { LeaderPass } from './steps.js';

/** A request as its row shows it. */
export interface SeenRequest {
  request: Request;
  state: RequestState;
  activeDeployId?: string;
  pendingDeployId?: string;
  bouncing: boolean;
}

/** A task as its row shows it. Times in epoch milliseconds. */
export interface SeenTask {
  taskId: TaskId;
  slaveId: string;
  rackId: string;
  incarnation: string;
  pendingType: PendingType;
  /** For when it was planned. */
  nextRunAt: number;
  runId?: string;
  actionId?: string;
  cpus: number;
  memoryMb: number;
  diskMb: number;
  ports: readonly number[];
  state: TaskState;
  endedAt?: number;
  cleaning: boolean;
  killed: boolean;
}

/** A task in the history. */
export interface SeenEnd {
  taskId: TaskId;
  runId?: string;
  /** Oldest first, TASK_CLEANING included. */
  updates: readonly { state: TaskState; at: number }[];
}

export interface SeenPending {
  requestId: string;
  deployId: string;
  instanceNo: number;
  pendingType: PendingType;
  nextRunAt: number;
  runId?: string;
}

export interface SeenMachine {
  slaveId: string;
  rackId: string;
  incarnation: string;
  attributes: Readonly<Record<string, string>>;
  state: MachineState;
  rackState: MachineState;
}

/** State that is committed at one moment. */
export interface Sight {
  now: number;
  requests: ReadonlyMap<string, SeenRequest>;
  /** By request: its deploys, and whether each ends old tasks before it starts new ones. */
  oldFirst: ReadonlyMap<string, ReadonlyMap<string, boolean>>;
  machines: ReadonlyMap<string, SeenMachine>;
  /** Live rows, ended ones included. */
  tasks: ReadonlyMap<string, SeenTask>;
  /** Only those that came since the last look. */
  newEnds: readonly SeenEnd[];
  pending: readonly SeenPending[];
  queue: readonly { requestId: string; deployId: string; pendingType: PendingType }[];
  /** Orders that were not carried out: cleanups of requests and tasks, kills. */
  orders: readonly string[];
}

/** Result of a caller's order. */
export type Answer = 'DONE' | 'REFUSED';

/** Orders that people may give. */
export interface Operators {
  create(request: Request, deploy: Deploy): Promise<Answer>;
  deploy(deploy: Deploy): Promise<Answer>;
  cancelDeploy(requestId: string): Promise<Answer>;
  scale(requestId: string, instances: number): Promise<Answer>;
  pause(requestId: string, killTasks: boolean): Promise<Answer>;
  unpause(requestId: string): Promise<Answer>;
  bounce(requestId: string, incremental: boolean): Promise<Answer>;
  run(requestId: string, runId: string): Promise<Answer>;
  delete(requestId: string): Promise<Answer>;
  exitCooldown(requestId: string): Promise<Answer>;
  kill(taskId: string, how: 'PLAIN' | 'REPLACED' | 'AT_ONCE'): Promise<Answer>;
  changeMachine(slaveId: string, to: MachineState): Promise<Answer>;
}

/** A scheduler on simulated machines: its pure core on rows in memory, or all of it on a real database. */
export interface World {
  readonly cluster: SimulatedCluster;
  readonly operators: Operators;
  /** The leader makes one pass now. */
  pass(pass: LeaderPass): Promise<void>;
  /** It makes one pass over the queue and its due tasks; `order` comes between what it decides and its writing. */
  between(order: () => Promise<void>): Promise<void>;
  /** The leader dies, `unsent`: before anything it wrote in this moment's pass was sent; another one takes over. */
  crash(unsent: boolean): Promise<void>;
  /** Another leader takes over from one that stands still and knows nothing of it. */
  overtake(): Promise<void>;
  /** The machine's agent, which does not answer, has had its time: its tasks are given up, and run on. */
  giveUp?(slaveId: string): Promise<void>;
  /** Former leaders that stood still go on, as if nothing had been. */
  formerGoesOn(): Promise<void>;
  look(): Promise<Sight>;
  close(): Promise<void>;
}
