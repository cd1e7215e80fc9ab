import { setTimeout as delay } from 'node:timers/promises';
import { failedCalls, LoadTool, type LoadResult } from './load-tool.js';
import { ended } from './phases.js';
import type { Front, Stage } from './stage.js';

/** Of this many instances one may be missing. */
const maxUnavailable = 1;
const sampleEveryMillis = 50;

interface Course {
  name: string;
  instances: number;
  run: (stage: Stage, front: Front) => Promise<void>;
}

export interface OldFirstResult {
  proxy: string;
  case: string;
  instances: number;
  maxUnavailable: number;
  /** Tasks behind the proxy, and live tasks, at the worst moment that was looked at. */
  fewestServing: number;
  mostLive: number;
  answered: number;
  failed: number;
  /** Times and kinds of the failed calls, where they break the promise. */
  failures: string[];
  seconds: number;
  /** Never more live than instances, never more missing than promised, and no failed call while one serves. */
  keepsPromise: boolean;
}

async function deployed(stage: Stage, front: Front, id: string, version: string, wanted: string): Promise<void> {
  await stage.deployOldFirst(front, id, version, maxUnavailable);
  await ended(stage, front, id, wanted);
}

const courses: readonly Course[] = [
  {
    name: 'deploy',
    instances: 2,
    run: async (stage, front) => {
      await deployed(stage, front, 'v6', '6', 'SUCCEEDED');
      await stage.settled(front, 2, 'v6');
    },
  },
  {
    name: 'deploy, broken in its second step',
    instances: 2,
    run: async (stage, front) => {
      await deployed(stage, front, 'v7', '3', 'FAILED');
      await stage.settled(front, 2, 'v6');
    },
  },
  {
    name: 'bounce',
    instances: 2,
    run: async (stage, front) => {
      const before = await stage.settled(front, 2, 'v6');
      await stage.bounce(front);
      await stage.settled(front, 2, 'v6', before);
    },
  },
  {
    name: 'deploy of the only instance',
    instances: 1,
    run: async (stage, front) => {
      await deployed(stage, front, 'v8', '8', 'SUCCEEDED');
      await stage.settled(front, 1, 'v8');
    },
  },
];

/** Changes to a service whose old tasks end first, each under load of its own. It begins with two instances. */
export async function playOldFirst(
  stage: Stage,
  front: Front,
  callsPerSecond: number,
  say: (line: string) => void,
): Promise<OldFirstResult[]> {
  const results: OldFirstResult[] = [];
  let instances = 2;
  for (const course of courses) {
    if (course.instances !== instances) await stage.scaledTo(front, course.instances, 'v6');
    ({ instances } = course);
    const result = await play(stage, front, course, callsPerSecond);
    results.push(result);
    const { fewestServing, mostLive, answered, failed } = result;
    say(
      `${new Date().toISOString()}  ${front.proxy}, OLD_FIRST, ${course.name}: ${fewestServing} to ${mostLive} of ${course.instances}, ` +
        `${answered} calls answered, ${failed} failed`,
    );
    for (const failure of result.failures) say(`  failed: ${failure}`);
  }
  return results;
}

async function play(
  stage: Stage,
  front: Front,
  { name, instances, run }: Course,
  callsPerSecond: number,
): Promise<OldFirstResult> {
  const watch = new Watch(stage, front);
  const tool = LoadTool.start(front.url, callsPerSecond);
  const began = performance.now();
  let load: LoadResult;
  try {
    await run(stage, front);
    load = await tool.stop();
  } finally {
    tool.kill();
    await watch.end();
  }
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  const failed = failedCalls(load);
  const { fewestServing, mostLive } = watch;
  const isWithin = mostLive <= instances && fewestServing >= instances - maxUnavailable;
  const keepsPromise = isWithin && (failed === 0 || instances === maxUnavailable);
  const failures = keepsPromise ? [] : load.failures.slice(0, 20);
  const seen = { fewestServing, mostLive, answered: load.answered, failed, failures, seconds };
  return { proxy: front.proxy, case: name, instances, maxUnavailable, ...seen, keepsPromise };
}

/** Looks at the service all the time. */
class Watch {
  fewestServing = Number.POSITIVE_INFINITY;
  mostLive = 0;
  private isOver = false;
  private readonly watching: Promise<void>;

  constructor(
    private readonly stage: Stage,
    private readonly front: Front,
  ) {
    this.watching = this.look();
  }

  async end(): Promise<void> {
    this.isOver = true;
    await this.watching;
  }

  private async look(): Promise<void> {
    while (!this.isOver) {
      this.fewestServing = Math.min(this.fewestServing, this.front.upstreams().length);
      this.mostLive = Math.max(this.mostLive, await this.stage.live(this.front));
      await delay(sampleEveryMillis);
    }
  }
}
