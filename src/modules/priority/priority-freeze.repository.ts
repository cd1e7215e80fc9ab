import { Inject, Injectable } from '@nestjs/common';
import type { PriorityFreeze } from '../../core/model/state.js';
import type { Request } from '../../core/model/request.js';
import type { FieldError } from '../../core/field-error.js';
import { freezeRefusal } from '../../core/placement/index.js';
import { replaceRows } from '../../platform/database/entity-values.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { PriorityFreezeEntity } from './priority-freeze.entity.js';
import { priorityRules } from './priority-rules.js';

/** A freeze as stored. */
export type StoredFreeze = Omit<PriorityFreezeEntity, 'onlyRow'>;

/** The priority freeze in force: at most one. Wake 'scheduler' after a change is committed. */
@Injectable()
export class PriorityFreezeRepository {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** By hand: each state of the service asks it, and there is hardly ever one to read. */
  async active(tx: Queryable): Promise<PriorityFreeze | undefined> {
    const exists = (await rows(tx, 'SELECT 1 FROM priority_freeze')).length > 0;
    return exists ? (await this.find(tx))?.priorityFreeze : undefined;
  }

  /** `lock`: it stays as it is until `tx` ends. */
  async find(tx: Queryable, { lock = false } = {}): Promise<StoredFreeze | undefined> {
    if (lock) await rows(tx, 'SELECT FROM priority_freeze FOR UPDATE');
    const [found] = await tx.getRepository(PriorityFreezeEntity).find();
    return found;
  }

  /** 400 when a freeze in force would hold back the tasks that are to replace those of the request. */
  async refuse(tx: Transaction, request: Request): Promise<void> {
    const problem = await this.refusal(tx, request);
    if (problem) throw SchedulerError.invalid('INVALID_REQUEST', [problem]);
  }

  /** Why a freeze in force holds back tasks of the request; undefined: none does. */
  async refusal(tx: Transaction, request: Request): Promise<FieldError | undefined> {
    return freezeRefusal(request, await this.active(tx), priorityRules(this.settings));
  }

  /** Takes the place of one in force, and of what that one wanted killed. */
  save(tx: Transaction, freeze: StoredFreeze): Promise<void> {
    return replaceRows(tx.getRepository(PriorityFreezeEntity), [{ ...freeze, onlyRow: true }]);
  }

  /** Records that the tasks that the freeze wanted killed are killed. */
  async killsDone(tx: Transaction): Promise<void> {
    await tx.getRepository(PriorityFreezeEntity).update({ onlyRow: true }, { killWanted: false });
  }

  /** false: there was none. */
  async remove(tx: Transaction): Promise<boolean> {
    return (await tx.getRepository(PriorityFreezeEntity).delete({ onlyRow: true })).affected! > 0;
  }
}
