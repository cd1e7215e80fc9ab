import type { Deploy } from '../../../src/core/model/deploy.js';
import type { MachineState } from '../../../src/core/model/enums.js';
import type { Request } from '../../../src/core/model/request.js';
import { DeploysService } from '../../../src/modules/deploys/deploys.service.js';
import { Bounces } from '../../../src/modules/requests/actions/bounces.service.js';
import { Deletions } from '../../../src/modules/requests/actions/deletions.service.js';
import { Pauses } from '../../../src/modules/requests/actions/pauses.service.js';
import { Runs } from '../../../src/modules/requests/actions/runs.service.js';
import { Scaling } from '../../../src/modules/requests/actions/scaling.service.js';
import { RequestsService } from '../../../src/modules/requests/requests.service.js';
import { MachineChanges } from '../../../src/modules/slaves/machine-changes.service.js';
import { TaskKills } from '../../../src/modules/tasks/task-kills.service.js';
import { SchedulerError } from '../../../src/platform/errors.js';
import { builtInCaller as caller } from '../../../src/platform/http/caller.js';
import type { SchedulerWorld } from '../../support/scheduler-world.js';
import type { Answer, Operators } from '../world/world.js';

type OperatorState = Parameters<MachineChanges['change']>[2];

/** Orders of people, through the services behind the API. */
export class RealOperators implements Operators {
  constructor(private readonly world: SchedulerWorld) {}

  async create(request: Request, deploy: Deploy): Promise<Answer> {
    const created = await answerOf(this.world.get(RequestsService).saveRequest(request, caller));
    return created === 'DONE' ? this.deploy(deploy) : created;
  }

  deploy(deploy: Deploy): Promise<Answer> {
    const start = { deploy, unpauseOnSuccessfulDeploy: false, largeScaleDownAcknowledged: true };
    return answerOf(this.world.get(DeploysService).start(start, caller));
  }

  async cancelDeploy(requestId: string): Promise<Answer> {
    const pending = await this.world.get(DeploysService).pending();
    const deployId = pending.find(({ deployMarker }) => deployMarker.requestId === requestId)?.deployMarker.deployId;
    if (deployId === undefined) return 'REFUSED';
    return answerOf(this.world.get(DeploysService).cancel({ requestId, deployId }, caller));
  }

  async scale(requestId: string, instances: number): Promise<Answer> {
    const [found] = await this.world.query<{ type: string }>('SELECT request_type AS type FROM request WHERE id = $1', [
      requestId,
    ]);
    if (found?.type !== 'SERVICE' && found?.type !== 'WORKER') return 'REFUSED';
    return answerOf(this.world.get(Scaling).scale(requestId, { instances }, true, caller));
  }

  pause(requestId: string, killTasks: boolean): Promise<Answer> {
    return answerOf(this.world.get(Pauses).pause(requestId, { killTasks }, caller));
  }

  unpause(requestId: string): Promise<Answer> {
    return answerOf(this.world.get(Pauses).unpause(requestId, {}, caller));
  }

  bounce(requestId: string, incremental: boolean): Promise<Answer> {
    return answerOf(this.world.get(Bounces).bounce(requestId, { incremental }, caller));
  }

  run(requestId: string, runId: string): Promise<Answer> {
    return answerOf(this.world.get(Runs).run(requestId, { runId }, { minimal: true }, caller));
  }

  delete(requestId: string): Promise<Answer> {
    return answerOf(this.world.get(Deletions).delete(requestId, {}, caller));
  }

  exitCooldown(requestId: string): Promise<Answer> {
    return answerOf(this.world.get(Pauses).exitCooldown(requestId, {}, caller));
  }

  kill(taskId: string, how: 'PLAIN' | 'REPLACED' | 'AT_ONCE'): Promise<Answer> {
    const options = { override: how === 'AT_ONCE', waitForReplacementTask: how === 'REPLACED' };
    return answerOf(this.world.get(TaskKills).kill(taskId, options, caller));
  }

  changeMachine(slaveId: string, to: MachineState): Promise<Answer> {
    return answerOf(this.world.get(MachineChanges).change('SLAVE', slaveId, to as OperatorState, {}, caller));
  }
}

/** Orders that make no sense at their moment are refused by name; anything else is a defect. */
async function answerOf(order: Promise<unknown>): Promise<Answer> {
  try {
    await order;
    return 'DONE';
  } catch (cause) {
    if (cause instanceof SchedulerError) return 'REFUSED';
    throw cause;
  }
}
