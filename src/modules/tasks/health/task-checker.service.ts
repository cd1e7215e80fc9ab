import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver } from '../../../cluster/cluster-driver.js';
import { healthcheckTimings } from '../../../core/health/index.js';
import type { TaskHealthcheckResult } from '../../../core/model/task.js';
import { Clock } from '../../../platform/clock.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import type { CheckedTask } from './checked-tasks.service.js';
import { probe, type ProbeResult, type ProbeTarget } from './http-probe.js';
import { PatientLimiter } from './patient-limiter.js';
import { TimedQueue, type Cancel } from './timed-queue.js';
import type { HealthcheckOptions } from '../../../core/model/deploy.js';
import type { LiveTask } from '../task.repository.js';

/** A task that answers at all does so sooner; one that does not costs no more than its connection. */
const patienceMillis = 250;
/** Connections at once, as a multiple of the checks at once: beyond it those that hang do hold up others. */
const openPerBusy = 16;

/** Asks tasks at given times, a bounded number at once. One queue holds all times, those of time limits too. */
@Injectable()
export class TaskChecker {
  private readonly timers = new TimedQueue();
  private readonly limiter: PatientLimiter;

  constructor(
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    const busy = settings.maxConcurrentHealthchecks;
    this.limiter = new PatientLimiter({ busy, patienceMillis, open: busy * openPerBusy }, this.timers);
  }

  after(millis: number, job: () => void): Cancel {
    return this.timers.after(millis, job);
  }

  /** Resolves to undefined when `signal` was aborted before there was a result. */
  check(task: CheckedTask, signal: AbortSignal): Promise<TaskHealthcheckResult | undefined> {
    return this.limiter.run(async () => {
      if (signal.aborted) return undefined;
      const result = await this.ask(task, signal);
      return signal.aborted ? undefined : result;
    });
  }

  private async ask({ live, context }: CheckedTask, signal: AbortSignal): Promise<TaskHealthcheckResult> {
    const timestamp = this.clock.now();
    const begun = performance.now();
    const options = context.deploy.healthcheck!;
    const target = healthcheckTarget(live, options, {
      isLocal: this.driver.name === 'local',
      furtherPorts: this.settings.healthcheckPortNumbers,
    });
    const { responseTimeoutMillis } = healthcheckTimings(options, context.settings);
    const limits = {
      timeoutMillis: responseTimeoutMillis,
      maxBodyBytes: this.settings.maxHealthcheckResponseBodyBytes,
    };
    const asked: ProbeResult =
      'errorMessage' in target
        ? { ...target, refused: false }
        : await probe({ ...target, ...limits }, signal, this.timers);
    const { refused, ...answer } = asked;
    const durationMillis = Math.round(performance.now() - begun);
    return { taskId: live.taskId, timestamp, startup: refused, durationMillis, ...answer };
  }
}

export type HealthcheckTarget = Omit<ProbeTarget, 'timeoutMillis' | 'maxBodyBytes'>;

interface Surroundings {
  /** The local driver runs everything on this machine, whatever its slaves are called. */
  isLocal: boolean;
  /** Ports that may be asked though no task has them, by the settings. */
  furtherPorts: readonly number[];
}

/** Address for the health check of a task, or the reason why there is none. */
export function healthcheckTarget(
  task: Pick<LiveTask, 'host' | 'ports'>,
  options: HealthcheckOptions,
  { isLocal, furtherPorts }: Surroundings,
): HealthcheckTarget | { errorMessage: string } {
  if (!options.uri) return { errorMessage: 'The health check names no uri' };
  const { portNumber } = options;
  // Else the scheduler would ask, for a caller who may deploy, what only the machines may reach.
  if (portNumber !== undefined && !task.ports.includes(portNumber) && !furtherPorts.includes(portNumber)) {
    return { errorMessage: `Port ${portNumber} is none of the task's, which has ${task.ports.join(', ') || 'none'}` };
  }
  const port = portNumber ?? task.ports[options.portIndex ?? 0];
  if (port === undefined || port < 1) return { errorMessage: `The task has no port ${options.portIndex ?? 0}` };
  return {
    host: isLocal ? 'localhost' : task.host,
    port,
    uri: options.uri,
    protocol: options.protocol ?? 'HTTP',
    method: options.method ?? 'GET',
  };
}
