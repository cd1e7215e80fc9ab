import { instanceLoad, type Front, type Stage } from './stage.js';

export interface Phase {
  name: string;
  /** Answers when it is over, with what it came to. */
  run: (stage: Stage, front: Front) => Promise<string>;
}

/** Waits for the end of a deploy. Throws if it is another one than wanted. */
export async function ended(stage: Stage, { service }: Front, version: string, wanted: string): Promise<void> {
  const { deployResult } = await stage.api.deployEnded(service, version, 120_000);
  if (deployResult?.deployState === wanted) return;
  throw new Error(`Deploy ${version} is ${deployResult?.deployState}, not ${wanted}: ${JSON.stringify(deployResult)}`);
}

/** Changes to a service of three instances, one after the other. */
export const phases: readonly Phase[] = [
  {
    name: 'deploy of another version',
    run: async (stage, front) => {
      await stage.deploy(front, 'v2');
      await ended(stage, front, 'v2', 'SUCCEEDED');
      await stage.settled(front, 3, 'v2');
      return 'SUCCEEDED';
    },
  },
  {
    name: 'step by step deploy, broken in its second step',
    run: async (stage, front) => {
      await stage.deploy(front, 'v3');
      await ended(stage, front, 'v3', 'FAILED');
      await stage.settled(front, 3, 'v2');
      return 'FAILED, the former version serves';
    },
  },
  {
    name: 'bounce',
    run: async (stage, front) => {
      const before = await stage.settled(front, 3, 'v2');
      await stage.bounce(front);
      await stage.settled(front, 3, 'v2', before);
      return '3 tasks replaced';
    },
  },
  {
    name: 'scale up to 5',
    run: async (stage, front) => {
      await stage.scaledTo(front, 5, 'v2');
      return '5 tasks';
    },
  },
  {
    name: 'scale down to 2',
    run: async (stage, front) => {
      await stage.scaledTo(front, 2, 'v2');
      return '2 tasks';
    },
  },
  {
    name: 'kill of a task',
    run: async (stage, front) => {
      const [victim] = await stage.settled(front, 2, 'v2');
      await stage.api.call('DELETE', `tasks/task/${victim}`, { message: 'goes on purpose' });
      await stage.settled(front, 2, 'v2', [victim!]);
      return 'replaced';
    },
  },
  {
    name: 'autoscale up and down',
    run: async (stage, front) => {
      const uri = front.tellLoad(5 * instanceLoad);
      const autoscale = {
        min: 2,
        max: 5,
        metric: 'HTTP',
        target: instanceLoad,
        uri,
        scaleDownDelayMillis: 2_000,
      } as const;
      await stage.saveRequest(front, { instances: 2, autoscale });
      await stage.settled(front, 5, 'v2');
      front.tellLoad(instanceLoad);
      await stage.settled(front, 2, 'v2');
      await stage.saveRequest(front, { instances: 2 });
      return '2 tasks, 5, and 2 again';
    },
  },
];
