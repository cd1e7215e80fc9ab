import { deployIsOver, service, version } from './plain.js';
import type { Scenario } from './scenario.js';
import type { Stage } from './stage.js';
import { builtInUser } from '../../src/core/authorization/index.js';
import { canarySettings } from '../support/fixtures/deploys.js';
import type { Autoscale } from '../../src/core/model/autoscale.js';
import type { DeployGate } from '../../src/core/model/gate.js';
import { GateAnswers } from '../../src/modules/deploys/gates/gate-answers.service.js';
import { DeploysService } from '../../src/modules/deploys/deploys.service.js';
import { RequestsService } from '../../src/modules/requests/requests.service.js';
import { Pauses } from '../../src/modules/requests/actions/pauses.service.js';
import { builtInCaller as caller } from '../../src/platform/http/caller.js';
import { SettingsFile } from '../../src/platform/settings/settings.js';
import type { SeenTask } from '../laws/world/world.js';

const settings = SettingsFile.parse({});

const oldFirst = { deployStrategy: 'OLD_FIRST' } as const;

/** A real service that is asked by gates and autoscaling, and answers a load of 300: the test starts it. */
const judge = { uri: '' };
export const judgedAt = (uri: string): void => void (judge.uri = uri);
const judgeUri = (): string => judge.uri;

/** One instance, then the others. */
const oneFirst = canarySettings({ canaryCycleCount: 1 });

/** Answers the first gate after a step as soon as it waits. */
async function approve(stage: Stage, step: number, approves = true): Promise<void> {
  const isOpen = async () =>
    (await stage.query(`SELECT 1 FROM deploy_gate WHERE deploy_id = 'd2' AND step = $1 AND gate = 1`, [step])).length >
    0;
  while (!(await isOpen())) await stage.live(1);
  const key = { requestId: 'svc', deployId: 'd2' };
  await stage.order((world) => world.get(GateAnswers).answer(key, { approves, step, gate: 1 }, builtInUser));
}

export const deploys: Scenario[] = [
  {
    name: 'a deploy',
    given: (stage) => stage.deployed(service({ instances: 2 }), version('d1')),
    story: async (stage) => {
      await stage.deploy(version('d2'));
      await deployIsOver(stage);
    },
    leaves: ['svc d2 1', 'svc d2 2'],
  },
  {
    name: 'an incremental deploy whose second step fails',
    tasks: ({ environment }) =>
      environment['VERSION'] === 'd2' && environment['INSTANCE_NO'] === '2' ? { runFor: 500, exit: 'TASK_FAILED' } : {},
    given: (stage) => stage.deployed(service({ instances: 3 }), version('d1')),
    story: async (stage) => {
      await stage.deploy(version('d2', { deployInstanceCountPerStep: 1 }));
      await deployIsOver(stage);
    },
    leaves: ['svc d1 1', 'svc d1 2', 'svc d1 3'],
  },
  {
    name: 'a deploy that is cancelled',
    tasks: ({ environment }) => (environment['VERSION'] === 'd2' ? { startAfter: 3_600_000 } : {}),
    given: (stage) => stage.deployed(service({ instances: 2 }), version('d1')),
    story: async (stage) => {
      await stage.deploy(version('d2'));
      await stage.until('new tasks start', ({ tasks }) => tasks.size === 4);
      await stage.order((world) => world.get(DeploysService).cancel({ requestId: 'svc', deployId: 'd2' }, caller));
      await deployIsOver(stage);
    },
    leaves: ['svc d1 1', 'svc d1 2'],
  },
  {
    name: 'a deploy through gates',
    given: (stage) => stage.deployed(service({ instances: 2 }), version('d1')),
    settings: { gates: { allowedTargets: ['127.0.0.1'], requestTimeoutMillis: 5_000 } },
    story: async (stage) => {
      const gates: DeployGate[] = [
        { type: 'MANUAL' },
        { type: 'BAKE', durationMillis: 5_000 },
        { type: 'HTTP', uri: judgeUri(), intervalMillis: 1_000, count: 2 },
      ];
      await stage.deploy(version('d2', { canaryDeploySettings: { ...oneFirst, gates } }));
      for (const step of [1, 2]) await approve(stage, step);
      await deployIsOver(stage);
    },
    leaves: ['svc d2 1', 'svc d2 2'],
  },
  {
    name: 'a deploy whose gate is rejected in the second step',
    given: (stage) => stage.deployed(service({ instances: 2 }), version('d1')),
    story: async (stage) => {
      const gates: DeployGate[] = [{ type: 'MANUAL' }];
      await stage.deploy(version('d2', { canaryDeploySettings: { ...oneFirst, gates } }));
      await approve(stage, 1);
      await approve(stage, 2, false);
      await deployIsOver(stage);
    },
    leaves: ['svc d1 1', 'svc d1 2'],
  },
  {
    name: 'a scale by autoscaling',
    given: (stage) => stage.deployed(service({ instances: 1 }), version('d1')),
    settings: { gates: { allowedTargets: ['127.0.0.1'], requestTimeoutMillis: 5_000 } },
    story: async (stage) => {
      const autoscale: Autoscale = { min: 1, max: 4, metric: 'HTTP', target: 100, uri: judgeUri(), stepLimit: 1 };
      await stage.order((world) => world.get(RequestsService).saveRequest(service({ autoscale }), builtInUser));
      await stage.until('there are three', ({ tasks }) => tasks.size === 3);
      await stage.live(60);
    },
    leaves: ['svc d1 1', 'svc d1 2', 'svc d1 3'],
  },
  {
    name: 'a deploy that brings another request and wakes it from its pause',
    given: async (stage) => {
      await stage.deployed(service({ instances: 1 }), version('d1'));
      await stage.order((world) => world.get(Pauses).pause('svc', { killTasks: true }, caller));
      await stage.rest();
    },
    story: async (stage) => {
      await stage.deploy(version('d2'), { unpauseOnSuccessfulDeploy: true, updatedRequest: service({ instances: 3 }) });
      await deployIsOver(stage);
    },
    leaves: ['svc d2 1', 'svc d2 2', 'svc d2 3'],
  },
  {
    name: 'a deploy that ends old tasks first',
    given: (stage) => stage.deployed(service({ instances: 2 }), version('d1')),
    story: async (stage) => {
      await stage.deploy(version('d2', oldFirst));
      await deployIsOver(stage);
    },
    leaves: ['svc d2 1', 'svc d2 2'],
  },
  {
    name: 'a deploy that ends old tasks first, and whose second task fails',
    tasks: ({ environment }) =>
      environment['VERSION'] === 'd2' && environment['INSTANCE_NO'] === '2' ? { runFor: 500, exit: 'TASK_FAILED' } : {},
    given: (stage) => stage.deployed(service({ instances: 3 }), version('d1')),
    story: async (stage) => {
      await stage.deploy(version('d2', oldFirst));
      await deployIsOver(stage);
      // One of them starts when the last new task has ended.
      await stage.until('the old version is back', ({ tasks }) => {
        const live = [...tasks.values()].filter(({ endedAt }) => endedAt === undefined);
        return live.filter(({ taskId, state }) => taskId.deployId === 'd1' && state === 'TASK_RUNNING').length === 3;
      });
    },
    leaves: ['svc d1 1', 'svc d1 2', 'svc d1 3'],
  },
  ...(['with it', 'without it'] as const).map((back): Scenario => ({
    name: `an old task that is given up, of a deploy that ends old tasks first, whose machine comes back ${back}`,
    tellsSilence: true,
    settings: { cluster: { ...settings.cluster, agentReregisterTimeoutSeconds: 60 } },
    given: async (stage) => {
      await stage.deployed(service(), version('d1', oldFirst));
      // A machine that falls silent while a leader is new is missing at its start.
      await stage.live(120);
    },
    story: async (stage) => {
      const [{ slaveId, taskId }] = [...stage.now.tasks.values()] as [SeenTask];
      stage.cluster.setReachable(slaveId, false);
      await stage.until('it is given up', ({ tasks }) => tasks.get(taskId.id)?.endedAt !== undefined);
      await stage.live(30);
      if (back === 'without it') stage.cluster.findAgent(slaveId)!.forget(taskId.id);
      stage.cluster.setReachable(slaveId, true);
      await stage.until('one runs', ({ tasks }) =>
        [...tasks.values()].some(({ state, endedAt }) => state === 'TASK_RUNNING' && endedAt === undefined),
      );
    },
    leaves: ['svc d1 1'],
  })),
];
