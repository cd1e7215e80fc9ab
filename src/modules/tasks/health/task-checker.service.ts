import { Inject, Injectable } from '@nestjs/common';
import {
  CLUSTER_DRIVER,
  StaleEpochError,
  type ClusterDriver,
  type TaskCheckAnswer,
} from '../../../cluster/cluster-driver.js';
import { healthcheckTimings, type LivenessRules } from '../../../core/health/index.js';
import type { TaskHealthcheckResult } from '../../../core/model/task.js';
import { Clock } from '../../../platform/clock.js';
import { Leadership } from '../../../platform/leadership/leadership.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import type { CheckedTask } from './checked-tasks.service.js';
import { probe, type ProbeTarget } from './http-probe.js';
import type { ProbeResult } from './probe-result.js';
import { grpcProbe } from './grpc-probe.js';
import { tcpProbe } from './tcp-probe.js';
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
    private readonly leadership: Leadership,
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
  async check(task: CheckedTask, signal: AbortSignal): Promise<TaskHealthcheckResult | undefined> {
    const options = task.context.deploy.healthcheck!;
    const { responseTimeoutMillis: timeoutMillis } = healthcheckTimings(options, task.context.settings);
    return (await this.ask(task, { uri: options.uri, timeoutMillis }, signal))?.result;
  }

  /** A check of a task that was healthy before. undefined as above. */
  checkLiveness(task: CheckedTask, rules: LivenessRules, signal: AbortSignal): Promise<TaskAnswer | undefined> {
    return this.ask(task, rules, signal);
  }

  private ask(task: CheckedTask, question: Question, signal: AbortSignal): Promise<TaskAnswer | undefined> {
    return this.limiter.run(async () => {
      if (signal.aborted) return undefined;
      const timestamp = this.clock.now();
      const begun = performance.now();
      const { refused, reached, ...answer } = await this.probe(task, question, signal);
      if (signal.aborted) return undefined;
      const durationMillis = Math.round(performance.now() - begun);
      const result = { taskId: task.live.taskId, timestamp, startup: refused, durationMillis, ...answer };
      return { result, answered: reached ?? answer.statusCode !== undefined };
    });
  }

  private async probe(
    { live, context }: CheckedTask,
    { uri, timeoutMillis }: Question,
    signal: AbortSignal,
  ): Promise<ProbeResult> {
    const options = { ...context.deploy.healthcheck!, uri };
    const surroundings = {
      isLocal: this.driver.name === 'local',
      furtherPorts: this.settings.healthcheckPortNumbers,
    };
    if (options.type === 'COMMAND') return this.runCommand(live, options.command ?? '', timeoutMillis);
    if (options.type === 'TCP' || options.type === 'GRPC') {
      const address = addressOf(live, options, surroundings);
      if ('errorMessage' in address) return { ...address, refused: false };
      const ask = options.type === 'TCP' ? tcpProbe : grpcProbe;
      return ask({ ...address, timeoutMillis }, signal, this.timers);
    }
    const target = healthcheckTarget(live, options, surroundings);
    if ('errorMessage' in target) return { ...target, refused: false };
    const limits = { timeoutMillis, maxBodyBytes: this.settings.maxHealthcheckResponseBodyBytes };
    return probe({ ...target, ...limits }, signal, this.timers);
  }

  /** The agent of its machine runs it, as the task. */
  private async runCommand(
    { taskId, slaveId }: LiveTask,
    command: string,
    timeoutMillis: number,
  ): Promise<ProbeResult> {
    const epoch = this.leadership.current();
    if (epoch === undefined || !this.driver.runCheck)
      return { errorMessage: 'No agent runs commands now', refused: false, reached: false };
    const maxOutputBytes = this.settings.maxHealthcheckResponseBodyBytes;
    const order = { taskId: taskId.id, command, timeoutMillis: Math.max(1, Math.ceil(timeoutMillis)), maxOutputBytes };
    try {
      return ofCommand(await this.driver.runCheck(order, slaveId, epoch));
    } catch (cause) {
      if (cause instanceof StaleEpochError) this.leadership.outranked(cause);
      return { errorMessage: String(cause).slice(0, longestOutputShown), refused: false, reached: false };
    }
  }
}

/** Characters of the output in the message of a failure. */
const longestOutputShown = 500;

function ofCommand(answer: TaskCheckAnswer): ProbeResult {
  switch (answer.outcome) {
    case 'ENDED': {
      const { exitCode, output } = answer;
      const said = output.replaceAll('\0', '\uFFFD');
      if (exitCode === 0) return { statusCode: 200, ...(said && { responseBody: said }), refused: false };
      const message = `Exit code ${exitCode}${said ? `: ${said.trim().slice(0, longestOutputShown)}` : ''}`;
      return { errorMessage: message, refused: false, reached: true };
    }
    case 'FAILED':
      return { errorMessage: answer.reason, refused: false, reached: true };
    case 'GONE':
      return { errorMessage: 'The task does not run on its machine', refused: false, reached: true };
    case 'UNKNOWN':
      return { errorMessage: answer.reason, refused: false, reached: false };
  }
}

interface Question {
  uri?: string;
  timeoutMillis: number;
}

/** Answer of a task. */
export interface TaskAnswer {
  result: TaskHealthcheckResult;
  /** Something came back: the task was reached, whatever it said. */
  answered: boolean;
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
  surroundings: Surroundings,
): HealthcheckTarget | { errorMessage: string } {
  if (!options.uri) return { errorMessage: 'The health check names no uri' };
  const address = addressOf(task, options, surroundings);
  if ('errorMessage' in address) return address;
  return { ...address, uri: options.uri, protocol: options.protocol ?? 'HTTP', method: options.method ?? 'GET' };
}

/** Host and port of the health check of a task, or the reason why there is none. */
function addressOf(
  task: Pick<LiveTask, 'host' | 'ports'>,
  { portNumber, portIndex = 0 }: Pick<HealthcheckOptions, 'portNumber' | 'portIndex'>,
  { isLocal, furtherPorts }: Surroundings,
): { host: string; port: number } | { errorMessage: string } {
  // Else the scheduler would ask, for a caller who may deploy, what only the machines may reach.
  if (portNumber !== undefined && !task.ports.includes(portNumber) && !furtherPorts.includes(portNumber)) {
    return { errorMessage: `Port ${portNumber} is none of the task's, which has ${task.ports.join(', ') || 'none'}` };
  }
  const port = portNumber ?? task.ports[portIndex];
  if (port === undefined || port < 1) return { errorMessage: `The task has no port ${portIndex}` };
  return { host: isLocal ? 'localhost' : task.host, port };
}
