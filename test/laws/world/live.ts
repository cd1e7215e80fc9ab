import { Lawbook } from '../rules/lawbook.js';
import { LawBroken } from '../rules/law-broken.js';
import { unfulfilled } from '../rules/wanted.js';
import { Performer, type Promised } from './perform.js';
import type { WorldPlan } from './plan.js';
import type { Step } from './steps.js';
import type { Sight, World } from './world.js';

/** Passes within which all is as it should be once nothing goes wrong any more, with the time between them. */
const calmRounds: readonly number[] = [
  ...Array.from({ length: 30 }, () => 1_000),
  ...Array.from({ length: 20 }, () => 7_000),
  ...Array.from({ length: 10 }, () => 61_000),
];

export interface LiveOptions<W extends World> {
  /** Called after every step, with what is committed then: for laws about what only this kind of world has. */
  afterEachStep?: (world: W, sight: Sight) => Promise<void>;
}

/** One schedule from its beginning to the calm after the storm; every law is looked at after every step. */
export async function live<W extends World>(
  world: W,
  plan: WorldPlan,
  steps: readonly Step[],
  options: LiveOptions<W> = {},
): Promise<void> {
  const performer = new Performer(world, plan);
  const laws = new Lawbook(world.cluster);
  const look = async (single = false): Promise<Sight> => {
    const sight = await world.look();
    laws.check(sight, single);
    await options.afterEachStep?.(world, sight);
    return sight;
  };
  await performer.begin();
  let sight = await look();
  for (const step of steps) {
    const before = step.do === 'formerGoesOn' ? fingerprint(sight) : undefined;
    await performer.take(step, sight);
    sight = await look((step.do === 'pass' && step.pass !== 'all') || step.do === 'between');
    if (before !== undefined && before !== fingerprint(sight)) {
      throw new LawBroken('A deposed leader does nothing', `${before} became ${fingerprint(sight)}`);
    }
  }
  await performer.calmDown(sight);
  sight = await look();
  for (const millis of calmRounds) {
    await world.pass('all');
    await world.cluster.advance(millis);
    await world.pass('all');
    sight = await look();
    if (unfulfilled(sight, world.cluster).length === 0) return keptPromises(sight, laws, performer.promised);
  }
  const problems = unfulfilled(sight, world.cluster).join('; ');
  throw new LawBroken('Once faults stop, live tasks equal wanted tasks', problems);
}

const fingerprint = ({ tasks, pending, queue, orders }: Sight): string =>
  JSON.stringify([[...tasks.keys()].toSorted(), pending, queue, orders]);

/**
 * Runs that a caller was promised took place, unless their request was paused or deleted. Of a SCHEDULED request at
 * most one run is planned, and a later look at its queue plans it anew.
 */
function keptPromises(sight: Sight, laws: Lawbook, promised: readonly Promised[]): void {
  for (const { requestId, runId } of promised) {
    const request = sight.requests.get(requestId)?.request;
    const isExcused = laws.interrupted.has(requestId) || !request || request.requestType === 'SCHEDULED';
    if (isExcused || laws.runs.has(runId)) continue;
    throw new LawBroken('A promised run takes place', `${runId} of ${requestId} did not`);
  }
}
