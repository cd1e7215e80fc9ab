import type { CleanupView, RequestCleanupView } from '../../../src/core/cleanup/index.js';
import type { Deploy } from '../../../src/core/model/deploy.js';
import type { Request } from '../../../src/core/model/request.js';
import { isDue } from '../../../src/core/model/task.js';
import type { ActiveTask } from '../../../src/core/pending-work/index.js';
import type { MachineView, PlacementSnapshot } from '../../../src/core/placement/index.js';
import { plansAhead } from '../../../src/core/schedules/index.js';
import { SettingsFile, type Settings } from '../../../src/platform/settings/settings.js';
import { cooldownRules, placementRules, workRules } from '../../../src/scheduler/rules.js';
import { graceMillis, spanAt, yearBegins, type YearCase } from './year-case.js';
import type { Rows } from './year-rows.js';

/* What the scheduler reads from its rows for the decisions of the core. */

export const settings = { ...SettingsFile.parse({}), hardKillAfterMillis: graceMillis } as Settings;
export const rules = {
  work: workRules(settings, []),
  placement: placementRules(settings, []),
  cooldown: cooldownRules(settings),
};
const deploy: Deploy = { requestId: 'job', id: 'd1', command: 'true' };
const machine: MachineView = {
  slaveId: 's1',
  hostname: 'host1',
  rackId: 'rack1',
  incarnation: '1',
  attributes: {},
  state: 'ACTIVE',
  rackState: 'ACTIVE',
  cpus: 64,
  memoryMb: 65_536,
  diskMb: 65_536,
  portRanges: [],
  used: { cpus: 0, memoryMb: 0, diskMb: 0 },
  usedPorts: [],
};

export const activeTasks = (rows: Rows): ActiveTask[] =>
  rows.tasks.map(({ taskId, cleaning, killed, pendingTask }) => ({
    taskId,
    slaveId: 's1',
    rackId: 'rack1',
    cleaning,
    killed,
    pendingType: pendingTask.pendingTaskId.pendingType,
  }));

export const waitingRequest = ({ state, startedRuns }: Rows, request: Request) => ({
  request,
  state,
  scheduleSince: yearBegins,
  startedRuns,
  activeDeployId: 'd1',
});

/** One machine with room for all, or none; undefined: nothing is due. */
export function placementSnapshot(rows: Rows, { request, full }: YearCase, now: number): PlacementSnapshot | undefined {
  const due = rows.pending.filter(({ pendingTaskId }) => isDue(pendingTaskId, now));
  if (due.length === 0) return undefined;
  const waitingRetries = rows.pending.filter(({ pendingTaskId }) => pendingTaskId.pendingType === 'RETRY').length;
  const view = {
    request,
    state: rows.state,
    scheduleSince: yearBegins,
    activeDeployId: 'd1',
    tasks: activeTasks(rows).map((task) => ({
      ...task,
      pendingType: task.pendingType!,
      cleaning: task.cleaning !== undefined,
    })),
    pendingTasks: rows.pending.length,
    waitingRetries: plansAhead(request) ? waitingRetries : undefined,
  };
  return {
    due,
    requests: new Map([[request.id, view]]),
    deploys: new Map([[`${request.id}-d1`, { deploy }]]),
    machines: spanAt(full, now) ? [] : [machine],
    takenTaskIds: new Set(rows.tasks.map(({ taskId }) => taskId.id)),
  };
}

export const cleanupView = (rows: Rows, request: Request): CleanupView => ({
  request,
  requestState: rows.state,
  activeDeployId: 'd1',
  deploys: new Map([['d1', deploy]]),
  tasks: rows.tasks.map(({ taskId, cleaning, cleanedAt, killed }) => ({
    taskId,
    state: 'TASK_RUNNING' as const,
    launchedWithSkip: false,
    skippedByRequest: false,
    checksCounted: 0,
    killed,
    cleanup: cleaning && !killed ? { taskId, cleanupType: cleaning, timestamp: cleanedAt! } : undefined,
  })),
  settings,
});

export const requestCleanupView = (rows: Rows): RequestCleanupView => ({
  requestState: rows.state,
  deploying: false,
  tasks: rows.tasks.map(({ taskId, cleaning }) => ({ taskId, state: 'TASK_RUNNING', cleanupType: cleaning })),
  settings,
});
