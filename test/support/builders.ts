import type { MachineSnapshot } from '../../src/cluster/cluster-driver.js';
import { planLaunch, taskRecord, type LaunchInput } from '../../src/core/launch/index.js';
import { isTerminal, type RequestState, type TaskState } from '../../src/core/model/enums.js';
import type { Deploy, DeployResult, ObjstoreUploaderFile } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import type { PendingTask, RunOrigin, Task, TaskId } from '../../src/core/model/task.js';
import { makePendingTaskId, makeTaskId } from '../../src/core/task-id.js';
import type { LaunchDocument } from '../../src/modules/tasks/launched-task.repository.js';
import type { Queryable } from '../../src/platform/database/queryable.js';

/*
 * Rows for tests. A test states only what it is about; the rest is a plain request 'web' with a deploy 'd1' whose tasks
 * run on slave 's1'. Times are epoch milliseconds around `start`.
 */

/** 2026-01-05, a Monday, at noon UTC. */
export const start = Date.UTC(2026, 0, 5, 12);

export const makeRequest = (changes: Partial<Request> = {}): Request => ({
  id: 'web',
  requestType: 'SERVICE',
  instances: 1,
  ...changes,
});

export const makeDeploy = (changes: Partial<Deploy> = {}): Deploy => ({
  requestId: 'web',
  id: 'd1',
  command: 'sleep 60',
  resources: { cpus: 1, memoryMb: 64, numPorts: 0, diskMb: 0 },
  objstoreUploaderAdditionalFiles: [],
  ...changes,
});

export const makePendingTask = (changes: Partial<PendingTask> = {}): PendingTask => ({
  pendingTaskId: makePendingTaskId({
    requestId: 'web',
    deployId: 'd1',
    nextRunAt: start,
    instanceNo: 1,
    pendingType: 'NEW_DEPLOY',
    createdAt: start,
  }),
  objstoreUploaderAdditionalFiles: [],
  envOverrides: {},
  requiredSlaveAttributeOverrides: {},
  allowedSlaveAttributeOverrides: {},
  extraArtifacts: [],
  ...changes,
});

export const makeMachine = (changes: Partial<MachineSnapshot> = {}): MachineSnapshot => ({
  slaveId: 's1',
  agentId: 'agent-1',
  incarnation: 'i1',
  hostname: 'host-1',
  rackId: 'rack-1',
  attributes: {},
  cpus: 8,
  memoryMb: 16_000,
  diskMb: 100_000,
  portRanges: [{ begin: 31_000, end: 31_999 }],
  portsInUse: [],
  silentForMillis: 0,
  ...changes,
});

export interface RequestRow {
  request?: Partial<Request>;
  state?: RequestState;
  activeDeployId?: string;
  pendingDeployId?: string;
}

export async function insertRequest(tx: Queryable, row: RequestRow = {}): Promise<Request> {
  const request = makeRequest(row.request);
  await tx.query(
    `INSERT INTO request (id, request_type, state, changed_at, active_deploy_id, pending_deploy_id, document)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      request.id,
      request.requestType,
      row.state ?? 'ACTIVE',
      new Date(start),
      row.activeDeployId ?? null,
      row.pendingDeployId ?? null,
      JSON.stringify(request),
    ],
  );
  return request;
}

export interface DeployRow {
  deploy?: Partial<Deploy>;
  createdAt?: number;
  result?: DeployResult;
  user?: string;
  message?: string;
}

export async function insertDeploy(tx: Queryable, row: DeployRow = {}): Promise<Deploy> {
  const deploy = makeDeploy(row.deploy);
  await tx.query(
    `INSERT INTO deploy_history (request_id, deploy_id, created_at, user_name, message, deploy_state, deploy_state_at, data)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      deploy.requestId,
      deploy.id,
      new Date(row.createdAt ?? start),
      row.user ?? null,
      row.message ?? null,
      row.result?.deployState ?? null,
      row.result ? new Date(row.result.timestamp) : null,
      JSON.stringify({ deploy, deployResult: row.result }),
    ],
  );
  return deploy;
}

export async function insertPendingTask(tx: Queryable, pendingTask: PendingTask): Promise<PendingTask> {
  const { id, requestId, deployId, instanceNo, pendingType, nextRunAt, createdAt } = pendingTask.pendingTaskId;
  await tx.query(
    `INSERT INTO pending_task (id, request_id, deploy_id, instance_no, pending_type, next_run_at, created_at, run_id, document)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      id,
      requestId,
      deployId,
      instanceNo,
      pendingType,
      new Date(nextRunAt),
      new Date(createdAt),
      pendingTask.runId ?? null,
      JSON.stringify(pendingTask),
    ],
  );
  return pendingTask;
}

export interface TaskRow {
  requestId?: string;
  deployId?: string;
  instanceNo?: number;
  slaveId?: string;
  host?: string;
  rackId?: string;
  startedAt?: number;
  runId?: string;
  /** Time at which the run was asked for. */
  askedAt?: number;
  /** Origin of the run. */
  origin?: RunOrigin;
  commandLineArguments?: string[];
  /** Files of this run that are uploaded. */
  uploads?: ObjstoreUploaderFile[];
  directory?: string;
  ports?: number[];
  /** States after TASK_LAUNCHED with their times, oldest first. A terminal one at the end makes the task ended. */
  updates?: [TaskState, number, { message?: string; reason?: string }?][];
}

/** A live task with its launch document and its updates. */
export async function insertTask(tx: Queryable, row: TaskRow = {}): Promise<TaskId> {
  const { taskId } = launchInput(row);
  const updates = [['TASK_LAUNCHED', taskId.startedAt] as const, ...(row.updates ?? [])];
  const states = updates.filter(([state]) => state !== 'TASK_CLEANING');
  const [state, stateAt] = states.at(-1)!;
  const time = (wanted: (state: TaskState) => boolean): Date | null => {
    const found = states.find(([candidate]) => wanted(candidate));
    return found ? new Date(found[1]) : null;
  };
  await tx.query(
    `INSERT INTO task (task_id, request_id, deploy_id, slave_id, instance_no, host, rack_id, started_at, pending_type, run_id,
       cpus, memory_mb, disk_mb, ports, incarnation, state, state_at, running_at, ended_at, directory)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'NEW_DEPLOY', $9, 1, 64, 0, $10, 'i1', $11, $12, $13, $14, $15)`,
    [
      taskId.id,
      taskId.requestId,
      taskId.deployId,
      row.slaveId ?? 's1',
      taskId.instanceNo,
      row.host ?? 'host-1',
      row.rackId ?? 'rack-1',
      new Date(taskId.startedAt),
      row.runId ?? null,
      row.ports ?? [],
      state,
      new Date(stateAt),
      time((candidate) => candidate === 'TASK_RUNNING'),
      time(isTerminal),
      row.directory ?? null,
    ],
  );
  await tx.query('INSERT INTO task_launch (task_id, document) VALUES ($1, $2)', [
    taskId.id,
    JSON.stringify(launchDocument(row)),
  ]);
  for (const [name, at, { message, reason } = {}] of updates as NonNullable<TaskRow['updates']>) {
    await tx.query('INSERT INTO task_update (task_id, state, at, message, reason) VALUES ($1, $2, $3, $4, $5)', [
      taskId.id,
      name,
      new Date(at),
      message ?? null,
      reason ?? null,
    ]);
  }
  return taskId;
}

/** The Task record of such a task, as long as its deploy is `makeDeploy`'s. */
export function makeTask(row: TaskRow = {}): Task {
  const input = launchInput(row);
  return taskRecord(input, planLaunch(input, { killGraceMillis: 1_000, cpuHardLimitScaleFactor: 1 }));
}

function launchInput(row: TaskRow): LaunchInput {
  const {
    requestId = 'web',
    deployId = 'd1',
    instanceNo = 1,
    slaveId = 's1',
    host = 'host-1',
    rackId = 'rack-1',
    startedAt = start,
    ports = [],
  } = row;
  return {
    taskId: makeTaskId({ requestId, deployId, startedAt, instanceNo, host, rackId }),
    place: { slaveId, incarnation: 'i1', hostname: host, rackId },
    request: makeRequest({ id: requestId }),
    deploy: makeDeploy({ requestId, id: deployId }),
    pending: makePendingTask({
      pendingTaskId: makePendingTaskId({
        requestId,
        deployId,
        nextRunAt: startedAt,
        instanceNo,
        pendingType: 'NEW_DEPLOY',
        createdAt: startedAt,
      }),
      runId: row.runId,
      askedAt: row.askedAt,
      ...row.origin,
      cmdLineArgsList: row.commandLineArguments,
      objstoreUploaderAdditionalFiles: row.uploads,
    }),
    ports,
    own: { cpus: 1, memoryMb: 64, diskMb: 0, numPorts: ports.length },
    needed: { cpus: 1, memoryMb: 64, diskMb: 0 },
  };
}

function launchDocument(row: TaskRow): LaunchDocument {
  const input = launchInput(row);
  const launch = planLaunch(input, { killGraceMillis: 1_000, cpuHardLimitScaleFactor: 1 });
  return { request: input.request, pendingTask: input.pending, launch };
}
