import { builtInCaller as caller } from '../../src/platform/http/caller.js';
import { Deletions } from '../../src/modules/requests/actions/deletions.service.js';
import { Pauses } from '../../src/modules/requests/actions/pauses.service.js';
import { Scaling } from '../../src/modules/requests/actions/scaling.service.js';
import { MachineChanges } from '../../src/modules/slaves/machine-changes.service.js';
import { TaskKills } from '../../src/modules/tasks/task-kills.service.js';
import type { KillTaskRequest } from '../../src/core/model/task.js';
import { service, version } from './plain.js';
import type { Scenario } from './scenario.js';
import type { Stage } from './stage.js';

const two = (stage: Stage): Promise<void> => stage.deployed(service({ instances: 2 }), version('d1'));

/** The task of instance 1. */
function kill(stage: Stage, request: KillTaskRequest): Promise<void> {
  const [task] = [...stage.now.tasks.values()].filter(({ taskId }) => taskId.instanceNo === 1);
  return stage.order((world) => world.get(TaskKills).kill(task!.taskId.id, request, caller));
}

export const cleanups: Scenario[] = [
  {
    name: 'a scale-down',
    given: (stage) => stage.deployed(service({ instances: 3 }), version('d1')),
    story: (stage) => stage.order((world) => world.get(Scaling).scale('svc', { instances: 1 }, true, caller)),
    leaves: ['svc d1 1'],
  },
  {
    name: 'a pause that kills',
    given: two,
    story: (stage) => stage.order((world) => world.get(Pauses).pause('svc', { killTasks: true }, caller)),
    leaves: [],
  },
  {
    name: 'a pause that spares runs of jobs, of a service',
    given: two,
    story: (stage) => stage.order((world) => world.get(Pauses).pause('svc', { killTasks: false }, caller)),
    leaves: [],
  },
  {
    name: 'a deletion',
    given: two,
    story: (stage) => stage.order((world) => world.get(Deletions).delete('svc', {}, caller)),
    leaves: [],
  },
  {
    name: 'a kill',
    given: two,
    story: async (stage) => {
      await kill(stage, {});
      await stage.live(60);
    },
    leaves: ['svc d1 1', 'svc d1 2'],
  },
  {
    name: 'a kill that waits for the replacement',
    given: two,
    story: (stage) => kill(stage, { waitForReplacementTask: true }),
    leaves: ['svc d1 1', 'svc d1 2'],
  },
  {
    name: 'the decommission of a slave',
    given: two,
    story: async (stage) => {
      const slaveId = [...stage.now.tasks.values()][0]!.slaveId;
      await stage.order((world) =>
        world.get(MachineChanges).change('SLAVE', slaveId, 'STARTING_DECOMMISSION', {}, caller),
      );
      await stage.until('the slave is empty', ({ machines }) => machines.get(slaveId)!.state === 'DECOMMISSIONED');
    },
    leaves: ['svc d1 1', 'svc d1 2'],
  },
];
