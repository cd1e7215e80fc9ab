import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import type { PendingTask } from '../../src/core/model/task.js';
import { makePendingTaskId, makeTaskId } from '../../src/core/task-id.js';
import type {
  MachineView,
  TaskSnapshot,
  PlacementRules,
  PlacementSnapshot,
  RequestView,
} from '../../src/core/placement/index.js';

export const now = 1_800_000_000_000;

export const rules = (own: Partial<PlacementRules> = {}): PlacementRules => ({
  defaultResources: { cpus: 1, memoryMb: 64, diskMb: 0 },
  executorResources: { cpus: 0, memoryMb: 0, diskMb: 0 },
  defaultPlacement: 'GREEDY',
  allowBounceToSameHost: false,
  placementLeniency: 0.09,
  rackCount: 2,
  reservedAttributes: {},
  preemptibleOnlyAttributes: {},
  preemptibleMaxRuntimeMillis: 900_000,
  maxTasksPerMachine: 0,
  maxActiveOnDemandTasks: 0,
  priority: { defaultLevel: 0.3, levelOfType: { WORKER: 0.5, SERVICE: 0.7 }, weightFactor: 1 },
  ...own,
});

export const machine = (slaveId: string, own: Partial<MachineView> = {}): MachineView => ({
  slaveId,
  hostname: `host-${slaveId}`,
  rackId: 'r1',
  incarnation: 'i1',
  attributes: {},
  state: 'ACTIVE',
  rackState: 'ACTIVE',
  cpus: 4,
  memoryMb: 4_000,
  diskMb: 0,
  portRanges: [{ begin: 31_000, end: 31_009 }],
  used: { cpus: 0, memoryMb: 0, diskMb: 0 },
  usedPorts: [],
  ...own,
});

export const pendingTask = (
  instanceNo: number,
  own: Partial<Omit<PendingTask, 'pendingTaskId'>> & Partial<PendingTask['pendingTaskId']> = {},
): PendingTask => {
  const { requestId = 'svc', deployId = 'd1', nextRunAt = now - 1_000, pendingType = 'NEW_DEPLOY', ...rest } = own;
  const { createdAt = Math.min(nextRunAt, now - 1_000), id: _, ...fields } = rest;
  return {
    pendingTaskId: makePendingTaskId({ requestId, deployId, nextRunAt, instanceNo, pendingType, createdAt }),
    ...fields,
  };
};

export const placed = (
  slaveId: string,
  instanceNo: number,
  own: Partial<TaskSnapshot> & { deployId?: string } = {},
) => {
  const { deployId = 'd1', ...rest } = own;
  const parts = { requestId: 'svc', deployId, startedAt: now - 60_000, instanceNo, host: slaveId, rackId: 'r1' };
  return {
    taskId: makeTaskId(parts),
    slaveId,
    rackId: 'r1',
    pendingType: 'NEW_DEPLOY',
    cleaning: false,
    killed: false,
    ...rest,
  } satisfies TaskSnapshot;
};

interface Scene {
  request?: Partial<Request>;
  deploy?: Partial<Deploy>;
  view?: Partial<RequestView>;
  averageRuntimeMillis?: number;
  due?: PendingTask[];
  machines: readonly MachineView[];
  takenTaskIds?: string[];
}

/** One request 'svc' with deploy 'd1', one pending task unless others are given. */
export const scene = (own: Scene): PlacementSnapshot => {
  const request: Request = { id: 'svc', requestType: 'SERVICE', instances: 2, ...own.request };
  const due = own.due ?? [pendingTask(1)];
  const deploy: Deploy = { requestId: 'svc', id: 'd1', command: 'run', ...own.deploy };
  return {
    due,
    requests: new Map([
      ['svc', { request, state: 'ACTIVE', activeDeployId: 'd1', tasks: [], pendingTasks: due.length, ...own.view }],
    ]),
    deploys: new Map([['svc-d1', { deploy, averageRuntimeMillis: own.averageRuntimeMillis }]]),
    machines: own.machines,
    takenTaskIds: new Set(own.takenTaskIds),
  };
};
