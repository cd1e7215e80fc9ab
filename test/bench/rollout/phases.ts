import type { Deploy } from '../../../src/core/model/deploy.js';
import { canarySettings } from '../../support/fixtures/deploys.js';
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

/** A canary of one task, then the rest; `errors` is the share of errors that the second gate finds. */
const gated = (front: Front, errors: number): Partial<Deploy> => ({
  canaryDeploySettings: canarySettings({
    canaryCycleCount: 1,
    gates: [
      { type: 'BAKE', durationMillis: 1_000 },
      {
        type: 'HTTP',
        uri: front.tell(errors),
        threshold: { operator: 'LT', value: 0.05 },
        count: 2,
        intervalMillis: 1_000,
      },
      { type: 'MANUAL' },
    ],
  }),
});

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
    name: 'liveness: a task turns sick',
    run: async (stage, front) => {
      const [victim] = await stage.settled(front, 3, 'v2');
      await stage.sicken(front, victim!);
      await stage.settled(front, 3, 'v2', [victim!]);
      return 'replaced';
    },
  },
  {
    name: 'canary deploy, all gates pass',
    run: async (stage, front) => {
      await stage.deploy(front, 'v4', gated(front, 0));
      const approved = await stage.approveAll(front, 'v4');
      await ended(stage, front, 'v4', 'SUCCEEDED');
      await stage.settled(front, 3, 'v4');
      return `SUCCEEDED, ${approved} approvals`;
    },
  },
  {
    name: 'canary deploy, a gate fails',
    run: async (stage, front) => {
      await stage.deploy(front, 'v5', gated(front, 0.2));
      await ended(stage, front, 'v5', 'FAILED');
      await stage.settled(front, 3, 'v4');
      return 'FAILED, the former version serves';
    },
  },
  {
    name: 'scale up to 5',
    run: async (stage, front) => {
      await stage.scaledTo(front, 5, 'v4');
      return '5 tasks';
    },
  },
  {
    name: 'scale down to 2',
    run: async (stage, front) => {
      await stage.scaledTo(front, 2, 'v4');
      return '2 tasks';
    },
  },
  {
    name: 'kill of a task',
    run: async (stage, front) => {
      const [victim] = await stage.settled(front, 2, 'v4');
      await stage.api.call('DELETE', `tasks/task/${victim}`, { message: 'goes on purpose' });
      await stage.settled(front, 2, 'v4', [victim!]);
      return 'replaced';
    },
  },
  {
    name: 'autoscale up and down',
    run: async (stage, front) => {
      const uri = front.tell(5 * instanceLoad);
      const autoscale = {
        min: 2,
        max: 5,
        metric: 'HTTP',
        target: instanceLoad,
        uri,
        scaleDownDelayMillis: 2_000,
      } as const;
      await stage.saveRequest(front, { instances: 2, autoscale });
      await stage.settled(front, 5, 'v4');
      front.tell(instanceLoad);
      await stage.settled(front, 2, 'v4');
      await stage.saveRequest(front, { instances: 2 });
      return '2 tasks, 5, and 2 again';
    },
  },
];
