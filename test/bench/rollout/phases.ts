import { instanceLoad, service, type Stage } from './stage.js';

export interface Phase {
  name: string;
  /** Answers when it is over, with what it came to. */
  run: (stage: Stage) => Promise<string>;
}

async function ended(stage: Stage, version: string, wanted: string): Promise<void> {
  const { deployResult } = await stage.api.deployEnded(service, version, 120_000);
  if (deployResult?.deployState === wanted) return;
  throw new Error(`Deploy ${version} is ${deployResult?.deployState}, not ${wanted}: ${JSON.stringify(deployResult)}`);
}

const put = (stage: Stage, path: string, body: unknown) =>
  stage.api.call('PUT', `requests/request/${service}/${path}`, body);

/** Changes to a service of three instances, one after the other. */
export const phases: readonly Phase[] = [
  {
    name: 'deploy of another version',
    run: async (stage) => {
      await stage.deploy('v2');
      await ended(stage, 'v2', 'SUCCEEDED');
      await stage.settled(3, 'v2');
      return 'SUCCEEDED';
    },
  },
  {
    name: 'step by step deploy, broken in its second step',
    run: async (stage) => {
      await stage.deploy('v3');
      await ended(stage, 'v3', 'FAILED');
      await stage.settled(3, 'v2');
      return 'FAILED, the former version serves';
    },
  },
  {
    name: 'bounce',
    run: async (stage) => {
      const before = await stage.settled(3, 'v2');
      await stage.api.post(`requests/request/${service}/bounce`);
      await stage.settled(3, 'v2', before);
      return '3 tasks replaced';
    },
  },
  {
    name: 'scale up to 5',
    run: async (stage) => {
      await put(stage, 'scale', { instances: 5 });
      await stage.settled(5, 'v2');
      return '5 tasks';
    },
  },
  {
    name: 'scale down to 2',
    run: async (stage) => {
      await put(stage, 'scale', { instances: 2 });
      await stage.settled(2, 'v2');
      return '2 tasks';
    },
  },
  {
    name: 'kill of a task',
    run: async (stage) => {
      const [victim] = await stage.settled(2, 'v2');
      await stage.api.call('DELETE', `tasks/task/${victim}`, { message: 'goes on purpose' });
      await stage.settled(2, 'v2', [victim!]);
      return 'replaced';
    },
  },
  {
    name: 'autoscale up and down',
    run: async (stage) => {
      const uri = stage.tellLoad(5 * instanceLoad);
      const autoscale = {
        min: 2,
        max: 5,
        metric: 'HTTP',
        target: instanceLoad,
        uri,
        scaleDownDelayMillis: 2_000,
      } as const;
      await stage.saveRequest({ instances: 2, autoscale });
      await stage.settled(5, 'v2');
      stage.tellLoad(instanceLoad);
      await stage.settled(2, 'v2');
      await stage.saveRequest({ instances: 2 });
      return '2 tasks, 5, and 2 again';
    },
  },
];
