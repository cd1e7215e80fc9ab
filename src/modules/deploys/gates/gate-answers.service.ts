import { Injectable, Logger } from '@nestjs/common';
import type { User } from '../../../core/authorization/index.js';
import { answerGate, isOpen } from '../../../core/gates/index.js';
import type { DeployKey } from '../../../core/model/deploy.js';
import type { GateRow } from '../../../core/model/gate.js';
import { DisabledActions } from '../../../platform/actions/disabled-actions.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SchedulerError } from '../../../platform/errors.js';
import { callerKey } from '../../../platform/http/caller.js';
import { Wake } from '../../../platform/wake/wake.js';
import { Rows } from '../../../rows.js';
import type { StoredDeploy, StoredPendingDeploy } from '../deploy.repository.js';

/** Answer of a person. Without step and gate it is for the gate that waits. */
export interface GateReply {
  approves: boolean;
  message?: string;
  step?: number;
  gate?: number;
}

/** Answers of people to the gates of deploys. The poller of deploys goes on from there. */
@Injectable()
export class GateAnswers {
  private readonly log = new Logger(GateAnswers.name);

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly wake: Wake,
    private readonly clock: Clock,
    private readonly actions: DisabledActions,
  ) {}

  /** Answers the gate as it is from now on. */
  async answer(key: DeployKey, reply: GateReply, user: User): Promise<Omit<GateRow, 'nextAt'>> {
    const row = await this.db.transaction((tx) => this.answerIn(tx, key, reply, user), [key.requestId]);
    this.wake.signalOf([key.requestId], 'deploys');
    const word = reply.approves ? 'approved' : 'rejected';
    const place = `Gate ${row.gate} after step ${row.step} of deploy '${key.deployId}' of request '${key.requestId}'`;
    this.log.log(`${place} was ${word} by ${user.email ?? user.id}`);
    const { nextAt: _next, ...shown } = row;
    return shown;
  }

  private async answerIn(tx: Transaction, key: DeployKey, reply: GateReply, user: User): Promise<GateRow> {
    const { pending, stored, group } = await this.lock(tx, key);
    if (reply.approves) await this.actions.refuseFor(group, 'DEPLOY', tx);
    const row = await this.gateOf(tx, pending, reply);
    const gate = stored.deploy.canaryDeploySettings!.gates![row.gate - 1]!;
    const name = user.email ?? (user.authenticated ? user.id : undefined);
    const isSameMail = user.email !== undefined && user.email === stored.marker.user;
    const isDeployer = isSameMail || callerKey(user) === pending.startedBy;
    const { approves, message } = reply;
    const now = this.clock.now();
    const answered = answerGate(gate, row, { approves, message, user: name, isDeployer }, now);
    switch (answered.kind) {
      case 'same':
        return row;
      case 'changed':
        await this.rows.deployGates.save(tx, key, answered.row);
        return answered.row;
      case 'refused':
        throw answered.because === 'OWN_DEPLOY' ? ownDeploy(row, key) : notWaiting(key, row);
    }
  }

  /** With the deploy in progress, under the lock of its request. */
  private async lock(
    tx: Transaction,
    key: DeployKey,
  ): Promise<{ pending: StoredPendingDeploy; stored: StoredDeploy; group?: string }> {
    const { requestId, deployId } = key;
    const locked = await this.rows.requests.lock(tx, requestId);
    if (!locked) throw SchedulerError.requestNotFound(requestId);
    const [pending] = await this.rows.deploys.findPending(tx, [requestId]);
    const stored = pending?.deployId === deployId ? await this.rows.deploys.find(tx, key) : undefined;
    if (pending && stored && !pending.ending) return { pending, stored, group: locked.request.group };
    throw new SchedulerError('NOT_PENDING', `Deploy '${deployId}' of request '${requestId}' is not in progress`);
  }

  /** The gate that is named, or that waits. */
  private async gateOf(tx: Transaction, pending: StoredPendingDeploy, { step, gate }: GateReply): Promise<GateRow> {
    const at = step ?? pending.progress?.step;
    const rows = at === undefined ? [] : await this.rows.deployGates.ofStep(tx, pending, at);
    const found = rows.find((row) => (gate === undefined ? isOpen(row) : row.gate === gate));
    if (!found) throw notWaiting(pending);
    return found;
  }
}

function notWaiting({ requestId, deployId }: DeployKey, row?: GateRow): SchedulerError {
  const which = row ? `Gate ${row.gate} (${row.type}) after step ${row.step}` : 'No gate';
  const isMeasured = row?.state === 'WAITING';
  const verb = !row
    ? 'waits'
    : isMeasured
      ? 'is decided without a user: it does not wait'
      : `is ${row.state} and does not wait`;
  return new SchedulerError(
    'GATE_NOT_WAITING',
    `${which} of deploy '${deployId}' of request '${requestId}' ${verb} for an answer`,
  );
}

const ownDeploy = ({ gate, step }: GateRow, { requestId, deployId }: DeployKey): SchedulerError =>
  new SchedulerError(
    'OWN_DEPLOY',
    `Gate ${gate} after step ${step} of deploy '${deployId}' of request '${requestId}' must be approved by another user than the one who deployed`,
  );
