import { Injectable } from '@nestjs/common';
import {
  type AcceptanceResult,
  type DeployTask,
  type DeploySnapshot,
  isCanaryEngine,
  newActive,
  newEnded,
  otherActive,
  withResults,
} from '../../core/deploys/index.js';
import type { Deploy, PendingDeploy } from '../../core/model/deploy.js';
import type { DeployAcceptanceState } from '../../core/model/enums.js';
import type { Request } from '../../core/model/request.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { DeployRepository, type StoredPendingDeploy, toPendingDeploy } from './deploy.repository.js';

/** A step of a canary deploy whose tasks are healthy and in the load balancer. */
export interface StepToAccept {
  request: Request;
  deploy: Deploy;
  pendingDeploy: PendingDeploy;
  /** Tasks of the deploy that run. */
  newTasks: DeployTask[];
  /** Tasks of the deploy that have ended. */
  endedNewTasks: DeployTask[];
  /** Running tasks of other deploys. */
  otherTasks: DeployTask[];
}

/** Decides, beside health checks, whether a step of a deploy is good enough to go on. */
export interface DeployAcceptanceCheck {
  /** Under this name its results are shown. */
  readonly name: string;
  /** Says if an error of the check itself makes the step bad; true unless said otherwise. */
  readonly failsOnError?: boolean;
  /**
   * PENDING: asked again a little later. Called outside any transaction, perhaps twice for the same step after a crash;
   * an answer that takes longer than ten seconds is an error.
   */
  check(step: StepToAccept): Promise<{ state: DeployAcceptanceState; message?: string }>;
}

const longestCheckMillis = 10_000;

/** The checks of deploys with acceptance mode CHECKS. None unless a room binds one, and then every step is accepted. */
@Injectable()
export class AcceptanceChecks {
  private readonly bound = new Map<string, DeployAcceptanceCheck>();

  bind(check: DeployAcceptanceCheck): void {
    if (this.bound.has(check.name)) throw new Error(`There are two acceptance checks '${check.name}'`);
    this.bound.set(check.name, check);
  }

  names(): string[] {
    return [...this.bound.keys()];
  }

  run(names: readonly string[], step: StepToAccept): Promise<AcceptanceResult[]> {
    return Promise.all(names.flatMap((name) => this.bound.get(name) ?? []).map((check) => runOne(check, step)));
  }
}

async function runOne(check: DeployAcceptanceCheck, step: StepToAccept): Promise<AcceptanceResult> {
  const { name, failsOnError = true } = check;
  try {
    return { name, ...(await inTime(check.check(step))) };
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    return failsOnError
      ? { name, state: 'FAILED', message: `The check went wrong: ${what}` }
      : { name, state: 'SUCCEEDED', message: `The check went wrong, which is ignored: ${what}` };
  }
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const seconds = longestCheckMillis / 1000;
    timer = setTimeout(() => reject(new Error(`no answer within ${seconds} s`)), longestCheckMillis);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Checks that are to be run for a step of a deploy. */
export interface AcceptanceJob {
  names: string[];
  step: StepToAccept;
  /** Timestamp of the progress: another one by now means another step. */
  timestamp: number;
}

/** Runs the checks that accept a step of a canary deploy, outside any transaction, and keeps what they say. */
@Injectable()
export class DeployAcceptance {
  constructor(
    private readonly checks: AcceptanceChecks,
    private readonly deploys: DeployRepository,
  ) {}

  names(): string[] {
    return this.checks.names();
  }

  prepare(pending: StoredPendingDeploy, view: DeploySnapshot, names: string[]): AcceptanceJob {
    const step: StepToAccept = {
      request: (view.updatedRequest ?? view.request)!,
      deploy: view.deploy!,
      pendingDeploy: toPendingDeploy(pending, view.marker),
      newTasks: newActive(view),
      endedNewTasks: newEnded(view),
      otherTasks: otherActive(view),
    };
    return { names, step, timestamp: view.progress!.timestamp };
  }

  run({ names, step }: AcceptanceJob): Promise<AcceptanceResult[]> {
    return this.checks.run(names, step);
  }

  /** false: the deploy is not at this step any more. The request's row is locked in `tx`. */
  async store(
    tx: Transaction,
    requestId: string,
    job: AcceptanceJob,
    results: readonly AcceptanceResult[],
    now: number,
  ): Promise<boolean> {
    const [pending] = await this.deploys.findPending(tx, [requestId]);
    const progress = pending?.progress;
    const isSame = pending?.deployId === job.step.deploy.id && progress?.timestamp === job.timestamp;
    if (!isSame || !progress || !isCanaryEngine(progress) || !progress.stepLaunchComplete) return false;
    await this.deploys.changePending(tx, { ...pending, progress: withResults(progress, results, now) });
    return true;
  }
}
