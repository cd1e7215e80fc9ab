import { relative } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { RequestType } from '../../../src/core/model/enums.js';
import { lawSettings } from '../../support/law-settings.js';
import { live, type LiveOptions } from './live.js';
import { anyWorld, type WorldPlan } from './plan.js';
import { anySteps, type Step } from './steps.js';
import type { World } from './world.js';

export interface Storm<W extends World> {
  types: readonly RequestType[];
  /** Most steps of a schedule. */
  length: number;
  /** Number of schedules in the deep step, of which `npm test` tries a twentieth; LAWS_RUNS says otherwise. */
  runs: number;
  /** Runs one schedule and closes its world. */
  start: (plan: WorldPlan) => Promise<W>;
  options?: LiveOptions<W>;
  /** Agents fall silent until their tasks are given up, too. */
  silent?: boolean;
}

export type Schedule = [WorldPlan, Step[]];

/**
 * Random schedules, each in a world of its own. The first that breaks a law is made as small as possible and printed
 * with what replays it.
 */
export async function holdLaws<W extends World>({
  types,
  length,
  runs,
  start,
  options,
  silent,
}: Storm<W>): Promise<void> {
  const { seed = Date.now() % 2 ** 31, path } = lawSettings;
  const property = fc.asyncProperty(anyWorld(types), anySteps(types, length, { silent }), (plan, steps) =>
    runSchedule([plan, steps], start, options),
  );
  const parameters = {
    seed,
    path,
    numRuns: lawSettings.runs ?? Math.ceil(runs * lawSettings.share),
    endOnFailure: path !== undefined,
  };
  const details = await fc.check(property, parameters);
  if (!details.failed) return;
  const replay = `LAWS_SEED=${details.seed} LAWS_PATH='${details.counterexamplePath}' npm test -- ${thisFile()}`;
  const what = details.errorInstance instanceof Error ? details.errorInstance.message : String(details.errorInstance);
  throw new Error(`${what}\nReplay: ${replay}\nSchedule: ${JSON.stringify(details.counterexample)}`);
}

/** As it is named on the command line. */
const thisFile = (): string => relative(process.cwd(), expect.getState().testPath ?? '');

export async function runSchedule<W extends World>(
  [plan, steps]: Schedule,
  start: Storm<W>['start'],
  options?: LiveOptions<W>,
): Promise<void> {
  const world = await start(plan);
  try {
    await live(world, plan, steps, options);
  } finally {
    await world.close();
  }
}
