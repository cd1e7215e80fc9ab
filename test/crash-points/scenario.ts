import { expect } from 'vitest';
import type { LentDatabase } from '../support/lent-database.js';
import { CrashPoints } from './crash-points.js';
import { endState, type EndState } from './end-state.js';
import { Stage, type StageOptions } from './stage.js';

export interface Scenario extends StageOptions {
  name: string;
  /** Makes the state before. Nothing is killed yet. */
  given: (stage: Stage) => Promise<void>;
  /** The course of events that is cut at each of its points. */
  story: (stage: Stage) => Promise<void>;
  /** Tasks that run in the end: request, deploy, instance number. */
  leaves: string[];
}

interface Run {
  /** Come to, in their order. */
  points: readonly string[];
  end: EndState;
}

/** Step through the points: CI tries an eighth of them, other ones for another program (`.ci/run`). */
const { CRASH_POINTS_EVERY: every = '1', LAWS_SEED: seed = '0' } = process.env;

/** Plays the story once without a kill, then once per point with a kill there, until no further point is come to. */
export async function killAtEveryPoint(scenario: Scenario, database: LentDatabase): Promise<number> {
  const undisturbed = await play(scenario, database, []);
  expect(undisturbed.end['running on machines'], 'without a kill').toEqual(scenario.leaves);
  for (let point = 1 + (Number(seed) % Number(every)); ; point += Number(every)) {
    const cut = await played(scenario, database, [point]);
    if (cut.points.length < point) return cut.points.length;
    expect(cut.end, `killed ${placeOf(cut, point)}`).toEqual(undisturbed.end);
  }
}

async function played(scenario: Scenario, database: LentDatabase, killAt: readonly number[]): Promise<Run> {
  const points = new CrashPoints();
  try {
    return await play(scenario, database, killAt, points);
  } catch (cause) {
    const places = killAt.map((point) => placeOf({ points: points.passed }, point));
    throw new Error(`Killed ${places.join(', then ')}: ${String(cause)}`, { cause });
  }
}

async function play(
  scenario: Scenario,
  database: LentDatabase,
  killAt: readonly number[],
  points = new CrashPoints(),
): Promise<Run> {
  const stage = await Stage.open(scenario, database, points);
  try {
    await scenario.given(stage);
    points.arm(killAt);
    await scenario.story(stage);
    await stage.rest();
    return { points: points.passed, end: await stage.result(endState) };
  } finally {
    await stage.close();
  }
}

/** Such as `at point 7: after the commit of CleanupPoller.clean`. */
const placeOf = ({ points }: Pick<Run, 'points'>, point: number): string =>
  `at point ${point}: ${points[point - 1] ?? 'never come to'}`;
