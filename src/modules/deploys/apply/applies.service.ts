import { Inject, Injectable } from '@nestjs/common';
import { contentId, unusedId } from '../../../core/content-id.js';
import { decideApply, leftOut } from '../../../core/deploys/apply.js';
import type { User } from '../../../core/authorization/index.js';
import type { Deploy } from '../../../core/model/deploy.js';
import type { Request } from '../../../core/model/request.js';
import { Database } from '../../../platform/database/database.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SchedulerError } from '../../../platform/errors.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { RequestRepository } from '../../requests/request.repository.js';
import { RequestSaves, type SavedRequest } from '../../requests/request-saves.service.js';
import { tellBelow } from '../deploy-checks.service.js';
import { DeployRepository } from '../deploy.repository.js';
import { DeploysService, type StartDeploy } from '../deploys.service.js';
import type { AppliedDto } from './apply.dto.js';

export interface Apply extends Omit<StartDeploy, 'deploy' | 'updatedRequest' | 'checkIndex' | 'isStored'> {
  request?: Request;
  /** Its id may be missing. */
  deploy?: Deploy;
}

/** Result of the transaction, for the answer and the notifications after its commit. */
export interface ApplyOutcome {
  applied: AppliedDto;
  saved?: SavedRequest;
  started?: Deploy;
}

/** Ends the transaction of a dry run without a commit. */
class TakenBack extends Error {
  constructor(readonly done: ApplyOutcome) {
    super('A dry run is taken back');
  }
}

/**
 * Makes what a caller says be so: a request, a deploy of it, or both. Each is judged as by its own operation, in one transaction: one
 * that is refused leaves nothing of the other. A dry run does the same and is taken back.
 */
@Injectable()
export class Applies {
  constructor(
    private readonly db: Database,
    private readonly saves: RequestSaves,
    private readonly requests: RequestRepository,
    private readonly deploys: DeployRepository,
    private readonly starts: DeploysService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async apply(wish: Apply, dryRun: boolean, caller: User): Promise<ApplyOutcome> {
    const requestId = requestOf(wish);
    if (wish.deploy) await this.starts.refuseUsers({ deploy: wish.deploy });
    const work = async (tx: Transaction): Promise<ApplyOutcome> => {
      const done = await this.applyIn(tx, requestId, wish, caller);
      if (dryRun) throw new TakenBack(done);
      return done;
    };
    const done = await this.db.transaction(work, [requestId]).catch((cause: unknown) => {
      if (cause instanceof TakenBack) return cause.done;
      throw cause;
    });
    if (dryRun) return done;
    if (done.saved) this.saves.saved(done.saved);
    if (done.started) this.starts.begun({ deploy: done.started, message: wish.message }, caller);
    return done;
  }

  private async applyIn(tx: Transaction, requestId: string, wish: Apply, caller: User): Promise<ApplyOutcome> {
    const applied: AppliedDto = { requestId, changes: [], notes: [] };
    const { request } = wish;
    const saving = request && this.saves.save(tx, request, caller, { unlessSame: true });
    const saved = await saving?.catch(tellBelow('request'));
    if (saved) {
      applied.request = saved.outcome;
      applied.changes.push(...saved.changes.map(({ path }) => path));
    }
    if (!wish.deploy) return { applied, saved };
    const stored = await this.requests.lock(tx, requestId);
    if (!stored) throw SchedulerError.requestNotFound(requestId);
    const step = decideApply(wish.deploy, await this.present(tx, requestId, stored.activeDeployId));
    if (step.kind !== 'start') {
      applied.deploy = step.kind === 'inProgress' ? 'IN_PROGRESS' : 'UNCHANGED';
      return { applied: { ...applied, deployId: step.deployId }, saved };
    }
    const started = { ...wish.deploy, id: wish.deploy.id || (await this.newId(tx, wish.deploy)) };
    const { message, unpauseOnSuccessfulDeploy, largeScaleDownAcknowledged } = wish;
    const start = { deploy: started, message, unpauseOnSuccessfulDeploy, largeScaleDownAcknowledged };
    await this.starts.startIn(tx, start, caller);
    const changes = [...applied.changes, ...step.changes];
    const notes = leftOut(started, this.settings.cluster);
    return { applied: { ...applied, deploy: 'STARTED', deployId: started.id, changes, notes }, saved, started };
  }

  /** The deploy that the request will run when the deploy in progress, if there is one, has succeeded. */
  private async present(tx: Transaction, requestId: string, activeDeployId: string | undefined) {
    const [pending] = await this.deploys.findPending(tx, [requestId]);
    const deployId = pending?.deployId ?? activeDeployId;
    const found = deployId === undefined ? undefined : await this.deploys.find(tx, { requestId, deployId });
    return found && { deploy: found.deploy, inProgress: pending !== undefined };
  }

  private async newId(tx: Transaction, deploy: Deploy): Promise<string> {
    const id = contentId(deploy);
    // Its beginning is left of it, however short ids have to be.
    const used = await this.deploys.idsWith(tx, deploy.requestId, id.slice(0, 4));
    return unusedId(id, (one) => used.has(one), this.settings.maxDeployIdSize);
  }
}

function requestOf({ request, deploy }: Apply): string {
  if (!request && !deploy) {
    const message = 'One of request, deploy is required';
    throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'request', rule: 'required', message }]);
  }
  if (request && !request.id) {
    throw SchedulerError.invalid('INVALID_REQUEST', [
      { field: 'request.id', rule: 'required', message: 'request.id is required' },
    ]);
  }
  if (request && deploy && deploy.requestId !== request.id) {
    const message = `deploy.requestId must be '${request.id}', the request beside it`;
    throw SchedulerError.invalid('INVALID_DEPLOY', [{ field: 'deploy.requestId', rule: 'match', message }]);
  }
  return (request?.id ?? deploy?.requestId)!;
}
