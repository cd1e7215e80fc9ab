import { Injectable } from '@nestjs/common';
import { LessThanOrEqual, MoreThan } from 'typeorm';
import { aheadMillis } from '../../core/elapsed.js';
import type { DisabledAction } from '../../core/model/state.js';
import type { ActionType } from '../../core/model/enums.js';
import { rows, toMillis, toTime } from '../database/sql.js';
import { DisabledActionEntity } from './disabled-action.entity.js';
import type { Queryable } from '../database/queryable.js';
import type { Transaction } from '../database/transaction.js';

/** Actions that are switched off. A writer signals 'actions' after the commit, since answers are kept for a moment. */
@Injectable()
export class DisabledActionRepository {
  /**
   * In the order of their names. By hand: every pass of a poller and every guarded call may ask, and it is one statement
   * without anything around it.
   */
  async all(tx: Queryable): Promise<Map<ActionType, DisabledAction>> {
    const found = await rows<{
      action: ActionType;
      message: string;
      user_name: string | null;
      automatically_clearable: boolean;
      expires_at: Date | null;
      except_groups: string[] | null;
    }>(tx, 'SELECT * FROM disabled_action ORDER BY action');
    return new Map(
      found.map((row) => [
        row.action,
        {
          type: row.action,
          message: row.message,
          user: row.user_name ?? undefined,
          automaticallyClearable: row.automatically_clearable,
          expiresAt: toMillis(row.expires_at),
          exceptGroups: row.except_groups ?? undefined,
        },
      ]),
    );
  }

  /** By a user: takes the place of one there is. */
  async disable(tx: Transaction, disabled: DisabledAction): Promise<void> {
    await tx.getRepository(DisabledActionEntity).upsert(toEntity(disabled), ['action']);
  }

  /** By a disaster: what an operator, or a worse disaster, switched off stays as it is. */
  async disableBecauseOfDisaster(tx: Transaction, disabled: readonly DisabledAction[]): Promise<void> {
    if (disabled.length === 0) return;
    // The setting may name an action twice; one statement may touch a row only once.
    const byAction = new Map(disabled.map((each) => [each.type, toEntity(each)]));
    await tx
      .getRepository(DisabledActionEntity)
      .createQueryBuilder('former')
      .insert()
      .values([...byAction.values()])
      .orUpdate(['message', 'user_name', 'automatically_clearable', 'expires_at', 'except_groups'], ['action'], {
        overwriteCondition: { where: 'former.automatically_clearable' },
      })
      .execute();
  }

  async enable(tx: Transaction, action: ActionType): Promise<void> {
    await tx.getRepository(DisabledActionEntity).delete({ action });
  }

  /** Enables the actions that come back once no disaster is left. Returns their number. */
  async enableClearable(tx: Transaction): Promise<number> {
    return (await tx.getRepository(DisabledActionEntity).delete({ automaticallyClearable: true })).affected ?? 0;
  }

  /** A disaster switches nothing off for longer than until `latest`: what is to last longer was by a clock that was ahead. Answers how many. */
  async takeTimesAhead(tx: Transaction, latest: number): Promise<number> {
    const tooLate = { automaticallyClearable: true, expiresAt: MoreThan(new Date(latest + aheadMillis)) };
    const changed = await tx.getRepository(DisabledActionEntity).update(tooLate, { expiresAt: new Date(latest) });
    return changed.affected ?? 0;
  }

  /** Enables the actions whose time is over. Returns their number. */
  async enableExpired(tx: Transaction, now: number): Promise<number> {
    const expired = { expiresAt: LessThanOrEqual(new Date(now)) };
    return (await tx.getRepository(DisabledActionEntity).delete(expired)).affected ?? 0;
  }
}

const toEntity = (disabled: DisabledAction): DisabledActionEntity => ({
  action: disabled.type,
  message: disabled.message,
  userName: disabled.user ?? null,
  automaticallyClearable: disabled.automaticallyClearable,
  expiresAt: toTime(disabled.expiresAt),
  exceptGroups: disabled.exceptGroups ?? null,
});
