import type { Args, CallContext, Service } from 'rest-contract';
import type { LeaderApi } from './agent-api.js';
import type { AgentParts } from './agent-parts.js';
import { inParallel } from './in-parallel.js';
import { killTask } from './kill-task.js';
import { runCommand } from './shell-commands/run-command.js';

const maxUpdatesPerAnswer = 500;
/** Each has a few files open while it is decided. */
const launchesAtOnce = 50;

/** What the agent does in the name of one epoch, which has been admitted. EpochOver is the answer when it ends meanwhile. */
export class LeaderOperations implements Service<typeof LeaderApi> {
  constructor(
    private readonly parts: AgentParts,
    private readonly epoch: number,
  ) {}

  async hello() {
    const { tasks, machines } = this.parts;
    // What an earlier epoch had begun is decided before this one is told anything.
    await tasks.decisions.settled();
    return { agentId: machines.agentId, incarnation: machines.incarnation };
  }

  async tasks() {
    const { tasks, machines } = this.parts;
    return { agentId: machines.agentId, incarnation: machines.incarnation, ...(await tasks.list()) };
  }

  launch({ launches }: Args<typeof LeaderApi, 'launch'>) {
    return inParallel(launches, launchesAtOnce, (document) => this.parts.launcher.launch(document, this.epoch));
  }

  kill({ taskId, graceMillis }: Args<typeof LeaderApi, 'kill'>) {
    return killTask(this.parts, { taskId, graceMillis, epoch: this.epoch });
  }

  runCommand({ order }: Args<typeof LeaderApi, 'runCommand'>) {
    return runCommand(this.parts, order, this.epoch);
  }

  async updates({ incarnation, after, waitMillis }: Args<typeof LeaderApi, 'updates'>, { signal }: CallContext) {
    const { context, tasks, epochs, machines } = this.parts;
    // Numbers of another incarnation say nothing about ours: the caller learns ours and begins anew.
    if (incarnation !== machines.incarnation)
      return { incarnation: machines.incarnation, updates: [], machinesVersion: machines.version };
    tasks.acknowledge(after).catch((cause: unknown) => context.log.error('Cannot archive ended tasks', cause));
    await context.updates.waitFor(after, waitMillis, signal);
    epochs.require(this.epoch);
    return {
      incarnation,
      updates: context.updates.after(after, maxUpdatesPerAnswer),
      machinesVersion: machines.version,
    };
  }
}
