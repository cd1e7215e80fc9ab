import { Inject, Injectable } from '@nestjs/common';
import {
  answerInTime,
  CLUSTER_DRIVER,
  MachineUnreachableError,
  type ClusterDriver,
  type SandboxView,
  type TaskSandbox,
} from '../../cluster/cluster-driver.js';
import type { Task } from '../../core/model/task.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { TaskHistoryRepository } from '../history/task-history.repository.js';

export interface OpenSandbox extends TaskSandbox {
  taskId: string;
  /** Name of the machine as the cluster gave it. */
  slaveHostname: string;
}

/** Finds the files of a task, live or ended, on the machine that ran it. */
@Injectable()
export class TaskSandboxes {
  constructor(
    private readonly db: Database,
    private readonly records: TaskHistoryRepository,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async open(taskId: string, view: SandboxView): Promise<OpenSandbox> {
    const record = await this.records.find(this.db.pool, taskId);
    if (!record) throw SchedulerError.taskNotFound(taskId);
    const { task, directory } = record.history;
    const slaveId = record.slaveId ?? slaveIdOf(task);
    if (directory === undefined || slaveId === undefined) throw withoutSandbox(taskId, record.active);
    const sandbox = await this.onMachine(slaveId, () => this.driver.sandbox(taskId, slaveId, view));
    if (!sandbox) {
      throw new SchedulerError('TASK_NOT_FOUND', `Slave '${slaveId}' has no files of task '${taskId}' any more`);
    }
    return {
      taskId,
      slaveHostname: hostnameOf(task),
      root: sandbox.root,
      list: (path) => this.onMachine(slaveId, () => sandbox.list(path)),
      read: (path, offset, length) => this.onMachine(slaveId, () => sandbox.read(path, offset, length)),
      // Without a time limit: a stream that comes too late would have no reader and hold its connection.
      download: (path, offset, length) => reachable(() => sandbox.download(path, offset, length)),
    };
  }

  private onMachine<T>(slaveId: string, ask: () => Promise<T>): Promise<T> {
    return reachable(() => answerInTime(slaveId, this.settings.sandboxHttpTimeoutMillis, ask));
  }
}

export async function reachable<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof MachineUnreachableError) {
      throw new SchedulerError('MACHINE_NOT_FOUND', cause.message, { cause });
    }
    throw cause;
  }
}

const slaveIdOf = ({ offers, offer, clusterTask }: Task): string | undefined =>
  (offers?.[0] ?? offer)?.slaveId?.value ?? clusterTask?.slaveId?.value;

export const hostnameOf = ({ offers, offer, taskId }: Task): string => (offers?.[0] ?? offer)?.hostname ?? taskId.host;

function withoutSandbox(taskId: string, active: boolean): SchedulerError {
  return active
    ? new SchedulerError('SANDBOX_NOT_READY', `Task '${taskId}' has no directory yet; try again in a moment`)
    : new SchedulerError('FILE_NOT_FOUND', `Task '${taskId}' ended before it had a directory`);
}

/** A path below a sandbox in its plain form, without slashes at its ends. undefined: it leads outside. */
export function sandboxPath(given: string): string | undefined {
  const parts = given.split('/').filter((part) => part !== '' && part !== '.');
  return parts.includes('..') ? undefined : parts.join('/');
}
