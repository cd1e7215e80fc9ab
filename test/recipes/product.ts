import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Deploy } from '../../src/core/model/deploy.js';
import { isTerminal, type TaskState } from '../../src/core/model/enums.js';
import type { Request } from '../../src/core/model/request.js';
import type { PendingTask, RunTrigger, TaskHistory, TaskIdHistory } from '../../src/core/model/task.js';
import type { Api } from '../e2e/support/api.js';
import { shell } from '../e2e/support/muster-command.js';
import { Installation } from '../e2e/support/product.js';
import { tempFolder } from '../support/temp-folder.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import type { Recipe } from './recipe-page.js';

const enoughMillis = 75_000;
export const until = <T>(what: string, condition: () => T | Promise<T>) =>
  waitFor(what, condition, { timeoutMillis: enoughMillis });
export const untilTime = (at: number) => until(`${new Date(at).toISOString()} to pass`, () => Date.now() > at);

/** Has the product do what the recipe says, and fails unless it has the effect that the wish names. */
export type Check = (recipe: Recipe, product: RecipeProduct) => Promise<void>;

/** A task of a run, as the API tells it. Times in epoch milliseconds. */
export interface Run {
  taskId: string;
  runId?: string;
  /** The planned time. */
  scheduledAt: number;
  trigger?: RunTrigger;
  attempt: number;
  parentRuns?: string[];
  flowId?: string;
  startedAt: number;
  /** Undefined: it goes on. */
  endedAt?: number;
  state?: TaskState;
  message: string;
}

/** The built product that all recipes share, with requests of their own. */
export class RecipeProduct {
  private readonly gates = tempFolder();
  private jobs = 0;
  readonly api: Api;

  private constructor(
    private readonly installation: Installation,
    api: Api,
  ) {
    this.api = api;
    chmodSync(this.gates.path, 0o755);
  }

  static async start(): Promise<RecipeProduct> {
    const installation = new Installation({
      database: createDatabase,
      settings: {
        allowTestResourceCalls: true,
        checkExpiringUserActionEveryMillis: 1_000,
        // Jobs of recipes fail more often than a request may before it cools down.
        crashLoop: { cooldownFailureThreshold: 0 },
      },
    });
    return new RecipeProduct(installation, (await installation.start()).api);
  }

  async dispose(): Promise<void> {
    await this.installation.dispose();
    this.gates.remove();
  }

  databaseUrl = (): string => this.installation.databaseUrl();

  /** A request with an id that no other has. */
  job(name = 'nightly'): Job {
    this.jobs += 1;
    return new Job(this, `${name}-${this.jobs}`);
  }

  /** A command that goes on until the gate is opened. */
  gate(): { command: string; open: () => void } {
    this.jobs += 1;
    const path = join(this.gates.path, String(this.jobs));
    const open = () => existsSync(path) || writeFileSync(path, '');
    return { command: `until [ -e ${path} ]; do sleep 0.1; done`, open };
  }

  /** A line of a page, that has to succeed, with these words in place of others. */
  async command(line: string, words: Record<string, string>, stdin?: string): Promise<string> {
    const replaced = replaceAll(line, words);
    const { code, out, err } = await shell(replaced, { env: { MUSTER_URL: this.api.url }, stdin });
    if (code !== 0) throw new Error(`Exit code ${code}: ${replaced}\n${out}${err}`);
    return out;
  }

  /** Told times of a schedule after a time, in UTC to the second; those without a run with the reason. */
  async preview(members: object, after: string, count = 3): Promise<string[]> {
    const asked = { ...members, after: Date.parse(after), count };
    const { times, end } = await this.api.post<{ times: { utc: string; skipped?: string }[]; end: string }>(
      'schedules/preview',
      asked,
    );
    const told = times.map(({ utc, skipped }) => utc.slice(0, 19) + (skipped ? ` ${skipped}` : ''));
    return end === 'COUNT' ? told : [...told, end];
  }
}

/** As RFC 5545 writes a time. */
export const written = (at: number): string => new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');

export function replaceAll(text: string, words: Record<string, string>): string {
  return Object.entries(words).reduce((changed, [word, other]) => changed.replaceAll(word, other), text);
}

/** A request of a check, and its runs. */
export class Job {
  private readonly ended = new Map<string, Run>();
  private deploys = 0;

  constructor(
    private readonly product: RecipeProduct,
    readonly id: string,
  ) {}

  private get api(): Api {
    return this.product.api;
  }

  /** Saves it, as a job on demand unless the members say otherwise. */
  async save(members: Partial<Request> = {}): Promise<this> {
    await this.api.saveRequest({ requestType: 'ON_DEMAND', ...members, id: this.id });
    return this;
  }

  async deploy(command: string, members: Partial<Deploy> = {}): Promise<this> {
    this.deploys += 1;
    const id = `d${this.deploys}`;
    const resources = { cpus: 0.02, memoryMb: 16 };
    await this.api.deploy({ command, resources, ...members, requestId: this.id, id });
    await until(`deploy ${id} of ${this.id}`, async () => (await this.told()).activeDeploy?.id === id);
    return this;
  }

  /** A job with these members that is due each second, unless they say otherwise. */
  async eachSecond(members: Partial<Request>, command: string, deploy: Partial<Deploy> = {}): Promise<this> {
    const usual: Partial<Request> = { requestType: 'SCHEDULED', scheduleType: 'QUARTZ', schedule: '* * * * * ?' };
    await this.save({ ...usual, ...members });
    return this.deploy(command, deploy);
  }

  told = () => this.api.request(this.id);
  run = (options: object = {}) => this.api.post(`requests/request/${this.id}/run`, options);
  pause = () => this.api.post(`requests/request/${this.id}/pause`, { killTasks: false });
  unpause = () => this.api.post(`requests/request/${this.id}/unpause`);
  remove = () => this.api.call('DELETE', `requests/request/${this.id}`, { force: true });
  explain = () => this.api.get<{ heldBy?: unknown[] }>(`requests/request/${this.id}/explain`);

  async untilState(state: string): Promise<void> {
    await until(`${this.id} to be ${state}`, async () => (await this.told()).state === state);
  }

  /** Runs that wait for their time or their turn. */
  async waiting(): Promise<PendingTask[]> {
    const waiting = await this.api.get<{ pendingTask: PendingTask }[]>(`tasks/scheduled/request/${this.id}`);
    return waiting.map(({ pendingTask }) => pendingTask);
  }

  /** Its tasks in the order of their starts. */
  async runs(): Promise<Run[]> {
    // In this order: a task that ends meanwhile is in both lists, not in neither.
    const active = await this.api.get<TaskIdHistory[]>(`history/request/${this.id}/tasks/active`);
    const ended = await this.api.get<TaskIdHistory[]>(`history/request/${this.id}/tasks?count=200`);
    const ids = new Set([...active, ...ended].map(({ taskId }) => taskId.id));
    const runs = await Promise.all([...ids].map((id) => this.ended.get(id) ?? this.look(id)));
    return runs.toSorted((a, b) => a.startedAt - b.startedAt || a.attempt - b.attempt);
  }

  private async look(taskId: string): Promise<Run> {
    const { task, taskUpdates } = await this.api.get<TaskHistory>(`history/task/${taskId}`);
    const last = taskUpdates.at(-1);
    const { runId, scheduledAt = NaN, trigger, attempt = 1, parentRuns, flowId } = task.taskRequest.pendingTask;
    const hasEnded = last !== undefined && isTerminal(last.taskState);
    const run: Run = {
      taskId,
      runId,
      scheduledAt,
      trigger,
      attempt,
      parentRuns,
      flowId,
      startedAt: task.taskId.startedAt,
      endedAt: hasEnded ? last.timestamp : undefined,
      state: last?.taskState,
      message: taskUpdates.map(({ statusMessage }) => statusMessage).join('\n'),
    };
    if (hasEnded) this.ended.set(taskId, run);
    return run;
  }

  untilRuns = (what: string, enough: (runs: Run[]) => boolean): Promise<Run[]> =>
    until(`${this.id}: ${what}`, async () => {
      const runs = await this.runs();
      return enough(runs) && runs;
    });
  /** Its tasks, when so many of them have ended. */
  untilEnded = (count: number): Promise<Run[]> =>
    this.untilRuns(`${count} ended tasks`, (runs) => runs.filter(hasEnded).length >= count);
  untilActive = (count: number): Promise<Run[]> =>
    this.untilRuns(`${count} active tasks`, (runs) => runs.filter(isActive).length === count);

  /** What a task has printed. */
  async output({ taskId }: Run): Promise<string> {
    const { data } = await this.api.get<{ data: string }>(`sandbox/${taskId}/read?path=stdout&offset=0&length=60000`);
    return data;
  }
}

export const hasEnded = ({ endedAt }: Run): boolean => endedAt !== undefined;
export const isActive = ({ endedAt }: Run): boolean => endedAt === undefined;

/** The most of these tasks that ran at one time. */
export function mostAtOnce(runs: Run[]): number {
  return Math.max(
    ...runs.map(
      ({ startedAt }) =>
        runs.filter((other) => other.startedAt <= startedAt && startedAt < (other.endedAt ?? Infinity)).length,
    ),
  );
}
