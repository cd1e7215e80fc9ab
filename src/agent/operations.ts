import { HttpErrorException, type Args, type Service } from 'rest-contract';
import type { LeaderApi, TaskApi, TrustedApi } from './agent-api.js';
import type { AgentParts } from './agent-parts.js';
import { LeaderOperations } from './leader-operations.js';
import { machineUsage } from './machine-usage.js';
import { sandboxRoot } from './sandbox-layout.js';
import { TaskOperations } from './task-operations.js';

/** What an agent can be asked, operation by operation. */
export class AgentOperations implements Service<typeof TrustedApi> {
  constructor(private readonly parts: AgentParts) {}

  async leader({ epoch }: Args<typeof TrustedApi, 'leader'>): Promise<Service<typeof LeaderApi>> {
    await this.parts.epochs.admit(epoch);
    return new LeaderOperations(this.parts, epoch);
  }

  async machines() {
    const { machines } = this.parts;
    return { machines: machines.snapshots(Date.now()), machinesVersion: machines.version };
  }

  async usage({ slaveId }: Args<typeof TrustedApi, 'usage'>) {
    const { context, machines, tasks } = this.parts;
    if (!machines.has(slaveId)) throw new HttpErrorException(404, 'Not found');
    return machineUsage(slaveId, tasks.live(), context.folder, Date.now);
  }

  task({ taskId }: Args<typeof TrustedApi, 'task'>): Service<typeof TaskApi> {
    // The folder of no task would be the one of all tasks.
    if (taskId === '') throw new HttpErrorException(404, 'Not found');
    const { context, tasks } = this.parts;
    return new TaskOperations(tasks.find(taskId), sandboxRoot(context.folder, taskId));
  }

  async shutdown({ killTasks, graceMillis }: Args<typeof TrustedApi, 'shutdown'>) {
    if (killTasks) await this.parts.tasks.killAll(graceMillis);
    setImmediate(this.parts.shutdown);
  }
}
