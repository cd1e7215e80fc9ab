import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import {
  CLUSTER_DRIVER,
  StaleEpochError,
  type ClusterDriver,
  type ShellCommandAnswer,
  type ShellCommandOrder,
} from '../../../cluster/cluster-driver.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { GatheredWarning } from '../../../platform/gathered-warning.js';
import { Leadership } from '../../../platform/leadership/leadership.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Wake } from '../../../platform/wake/wake.js';
import { ShellCommandRepository, type QueuedCommand } from './shell-command.repository.js';

const commandsPerPass = 1_000;

const keyOf = ({ taskId, name, timestamp }: ShellCommandOrder): string => `${timestamp} ${taskId} ${name}`;

/** Sends queued commands to the machines of their tasks, until these have accepted them. */
@Injectable()
export class ShellCommandPoller implements OnModuleInit {
  private readonly log = new Logger(ShellCommandPoller.name);
  private readonly failed = new GatheredWarning((line) => this.log.warn(line));
  private readonly inFlight = new Map<string, Promise<void>>();

  constructor(
    private readonly db: Database,
    private readonly commands: ShellCommandRepository,
    private readonly leadership: Leadership,
    private readonly pollers: Pollers,
    private readonly wake: Wake,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.pollers.register({
      name: 'shell-commands',
      everyMs: this.settings.dispatchTaskShellCommandsEverySeconds * 1000,
      pass: () => this.runOnce(),
      wakeOn: ['shell-commands'],
    });
  }

  /** Begins to send what is not under way; an agent that does not answer does not hold up the others. */
  async runOnce(): Promise<void> {
    for (const command of await this.commands.toDispatch(this.db.pool, commandsPerPass)) {
      const key = keyOf(command.order);
      if (this.inFlight.has(key)) continue;
      this.inFlight.set(
        key,
        this.send(command).finally(() => this.inFlight.delete(key)),
      );
    }
  }

  /** Resolves when no call is under way any more. */
  async settled(): Promise<void> {
    await Promise.all(this.inFlight.values());
  }

  private async send({ order, slaveId }: QueuedCommand): Promise<void> {
    const epoch = this.leadership.current();
    if (epoch === undefined) return;
    try {
      const answer = await this.driver.runCommand(order, slaveId, epoch);
      if (answer !== 'UNKNOWN') await this.answered(order, answer);
    } catch (cause) {
      if (cause instanceof StaleEpochError) this.leadership.outranked(cause);
      else this.failed.note(`Command '${order.name}' of task '${order.taskId}' is sent again: ${String(cause)}`);
    }
  }

  private async answered(order: ShellCommandOrder, answer: Exclude<ShellCommandAnswer, 'UNKNOWN'>): Promise<void> {
    const now = this.clock.now();
    const ended = await this.db.leaderTransaction(async (tx) => {
      if (answer === 'ACCEPTED') {
        await this.commands.markDispatched(tx, order, now);
        return false;
      }
      const { taskId, name, timestamp } = order;
      const message = 'The task does not run on its machine';
      return this.commands.record(tx, [{ taskId, name, timestamp, at: now, updateType: 'INVALID', message }]);
    });
    if (ended) this.wake.signal('cleanup');
  }
}
