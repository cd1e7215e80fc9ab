import { Injectable } from '@nestjs/common';
import { Any, JsonContains, MoreThan } from 'typeorm';
import type { MachineKind } from '../../core/model/machine.js';
import type { ClockLimit } from '../clock-limit.js';
import { replaceRows } from '../database/entity-values.js';
import type { Queryable } from '../database/queryable.js';
import type { Transaction } from '../database/transaction.js';
import { rows } from '../database/sql.js';
import {
  ExpiringActionEntity,
  type ExpiringMachineAction,
  type ExpiringRequestAction,
  type ExpiringRequestKind,
} from './expiring-action.entity.js';

/** In the order in which they are ended. */
export const requestKinds: readonly ExpiringRequestKind[] = [
  'BOUNCE',
  'PAUSE',
  'SCALE',
  'PRIORITY',
  'SKIP_HEALTHCHECKS',
];
const machineKinds: readonly MachineKind[] = ['SLAVE', 'RACK'];

type ActionRow = Omit<ExpiringActionEntity, 'user' | 'startMillis'> & { user: string | null; startedAt: Date };

/**
 * Changes that lapse: at most one per request and kind, and at most one per machine. Those of requests are written under
 * the lock on the request's row, those of machines under that on the fleet; wake 'expiring' after the commit.
 */
@Injectable()
export class ExpiringActionRepository {
  /** Lets actions that began at a time that is still to come begin now. Returns their number. */
  async takeTimesAhead(tx: Transaction, { now, latest }: ClockLimit): Promise<number> {
    const changed = await tx
      .getRepository(ExpiringActionEntity)
      .update({ startMillis: MoreThan(latest.getTime()) }, { startMillis: now.getTime() });
    return changed.affected ?? 0;
  }

  /** Overwrites the one of this kind that the request has. */
  save(tx: Queryable, action: ExpiringRequestAction): Promise<void> {
    return replaceRows(tx.getRepository(ExpiringActionEntity), [action]);
  }

  /** By hand: each GET of a request asks this, and TypeORM takes longer to put the statement together than to send it. */
  async ofRequests(tx: Queryable, requestIds: readonly string[]): Promise<ExpiringRequestAction[]> {
    const found = await rows<ActionRow>(
      tx,
      `SELECT kind, target_id AS "targetId", user_name AS "user", started_at AS "startedAt",
         duration_millis AS "durationMillis", action_id AS "actionId", document, revert
       FROM expiring_action WHERE target_id = ANY ($1) AND kind = ANY ($2) ORDER BY target_id, kind`,
      [requestIds, requestKinds],
    );
    return found.map(({ user, startedAt, ...action }) => ({
      ...action,
      user: user ?? undefined,
      startMillis: startedAt.getTime(),
    })) as ExpiringRequestAction[];
  }

  /** All of requests, in the order in which they are ended: bounce, pause, scale, priority, skip healthchecks. */
  async all(tx: Queryable): Promise<ExpiringRequestAction[]> {
    const found = await tx.getRepository(ExpiringActionEntity).find({
      where: { kind: Any(requestKinds) },
      order: { startMillis: 'ASC', targetId: 'ASC' },
    });
    const actions = found as ExpiringRequestAction[];
    return actions.sort((one, other) => requestKinds.indexOf(one.kind) - requestKinds.indexOf(other.kind));
  }

  /** false: there was none. With `deployId` only a bounce of that deploy is removed. */
  async remove(tx: Transaction, kind: ExpiringRequestKind, requestId: string, deployId?: string): Promise<boolean> {
    const { affected } = await tx.getRepository(ExpiringActionEntity).delete({
      kind,
      targetId: requestId,
      ...(deployId !== undefined && { revert: JsonContains({ deployId }) }),
    });
    return affected! > 0;
  }

  async removeKinds(tx: Transaction, kinds: readonly ExpiringRequestKind[], requestId: string): Promise<void> {
    if (kinds.length === 0) return;
    await tx.getRepository(ExpiringActionEntity).delete({ kind: Any(kinds), targetId: requestId });
  }

  /** Removes this very action, not one that took its place. */
  async removeExactly(
    tx: Transaction,
    { kind, targetId, actionId, startMillis }: ExpiringRequestAction,
  ): Promise<void> {
    await tx.getRepository(ExpiringActionEntity).delete({ kind, targetId, actionId, startMillis });
  }

  async removeAll(tx: Transaction, requestId: string): Promise<void> {
    await tx.getRepository(ExpiringActionEntity).delete({ targetId: requestId, kind: Any(requestKinds) });
  }

  /** Actions on machines of one kind or of both, or on one machine; by kind and id. */
  async ofMachines(tx: Queryable, filter: { kind?: MachineKind; id?: string } = {}): Promise<ExpiringMachineAction[]> {
    const found = await tx.getRepository(ExpiringActionEntity).find({
      where: {
        kind: Any(filter.kind ? [filter.kind] : machineKinds),
        ...(filter.id !== undefined && { targetId: filter.id }),
      },
      order: { kind: 'ASC', targetId: 'ASC' },
    });
    return found as ExpiringMachineAction[];
  }

  /** The machine has none yet. */
  async insertOfMachine(tx: Transaction, action: ExpiringMachineAction): Promise<void> {
    await tx.getRepository(ExpiringActionEntity).insert(action);
  }

  async removeOfMachines(tx: Transaction, kind: MachineKind, ids: readonly string[]): Promise<void> {
    await tx.getRepository(ExpiringActionEntity).delete({ kind, targetId: Any(ids) });
  }
}
