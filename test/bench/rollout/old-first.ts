import { setTimeout as delay } from 'node:timers/promises';
import { failedCalls, LoadTool, type LoadResult } from './load-tool.js';
import { ended } from './phases.js';
import type { Stage } from './stage.js';

/** Of this many instances one may be missing. */
const maxUnavailable = 1;
const sampleEveryMillis = 50;

interface Course {
  name: string;
  instances: number;
  run: (stage: Stage) => Promise<void>;
}

export interface OldFirstResult {
  case: string;
  instances: number;
  maxUnavailable: number;
  /** Tasks behind the proxy, and live tasks, at the worst moment that was looked at. */
  fewestServing: number;
  mostLive: number;
  answered: number;
  failed: number;
  seconds: number;
  /** Never more live than instances, never more missing than promised, and no failed call while one serves. */
  keepsPromise: boolean;
}

async function deployed(stage: Stage, id: string, version: string, wanted: string): Promise<void> {
  await stage.deployOldFirst(id, version, maxUnavailable);
  await ended(stage, id, wanted);
}

const courses: readonly Course[] = [
  {
    name: 'deploy',
    instances: 2,
    run: async (stage) => {
      await deployed(stage, 'v4', '4', 'SUCCEEDED');
      await stage.settled(2, 'v4');
    },
  },
  {
    name: 'deploy, broken in its second step',
    instances: 2,
    run: async (stage) => {
      await deployed(stage, 'v5', '3', 'FAILED');
      await stage.settled(2, 'v4');
    },
  },
  {
    name: 'bounce',
    instances: 2,
    run: async (stage) => {
      const before = await stage.settled(2, 'v4');
      await stage.bounce();
      await stage.settled(2, 'v4', before);
    },
  },
  {
    name: 'deploy of the only instance',
    instances: 1,
    run: async (stage) => {
      await deployed(stage, 'v6', '6', 'SUCCEEDED');
      await stage.settled(1, 'v6');
    },
  },
];

/** Changes to a service whose old tasks end first, each under load of its own. It begins with two instances. */
export async function playOldFirst(
  stage: Stage,
  callsPerSecond: number,
  say: (line: string) => void,
): Promise<OldFirstResult[]> {
  const results: OldFirstResult[] = [];
  let instances = 2;
  for (const course of courses) {
    if (course.instances !== instances) await stage.scaledTo(course.instances, 'v4');
    ({ instances } = course);
    const result = await play(stage, course, callsPerSecond);
    results.push(result);
    const { fewestServing, mostLive, answered, failed } = result;
    say(
      `${new Date().toISOString()}  OLD_FIRST, ${course.name}: ${fewestServing} to ${mostLive} of ${course.instances}, ` +
        `${answered} calls answered, ${failed} failed`,
    );
  }
  return results;
}

async function play(stage: Stage, { name, instances, run }: Course, callsPerSecond: number): Promise<OldFirstResult> {
  const watch = new Watch(stage);
  const tool = LoadTool.start(stage.url, callsPerSecond);
  const began = performance.now();
  let load: LoadResult;
  try {
    await run(stage);
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
  const seen = { fewestServing, mostLive, answered: load.answered, failed, seconds };
  return { case: name, instances, maxUnavailable, ...seen, keepsPromise };
}

/** Looks at the service all the time. */
class Watch {
  fewestServing = Number.POSITIVE_INFINITY;
  mostLive = 0;
  private isOver = false;
  private readonly watching: Promise<void>;

  constructor(private readonly stage: Stage) {
    this.watching = this.look();
  }

  async end(): Promise<void> {
    this.isOver = true;
    await this.watching;
  }

  private async look(): Promise<void> {
    while (!this.isOver) {
      this.fewestServing = Math.min(this.fewestServing, this.stage.serving());
      this.mostLive = Math.max(this.mostLive, await this.stage.live());
      await delay(sampleEveryMillis);
    }
  }
}
