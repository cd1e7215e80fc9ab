import { Injectable } from '@nestjs/common';
import type { RequestParent } from '../../../core/model/request.js';
import { SchedulerError } from '../../../platform/errors.js';
import { RequestActions } from '../request-actions.service.js';
import { RequestParents } from '../request-parents.service.js';
import type { ExpiringRequestKind } from '../../../platform/actions/expiring-action.entity.js';
import { ExpiringActionRepository } from '../../../platform/actions/expiring-action.repository.js';

/** Makes a change that would lapse permanent. What was changed stays as it is; a bounce goes on without a time limit. */
@Injectable()
export class ExpiringRemovals {
  constructor(
    private readonly actions: RequestActions,
    private readonly expiring: ExpiringActionRepository,
    private readonly parents: RequestParents,
  ) {}

  remove(id: string, kind: ExpiringRequestKind): Promise<RequestParent> {
    return this.actions.perform(id, [], async (tx) => {
      if (!(await this.expiring.remove(tx, kind, id))) {
        const what = kind.toLowerCase().replaceAll('_', ' ');
        throw new SchedulerError('EXPIRING_ACTION_NOT_FOUND', `Request '${id}' has no expiring ${what}`);
      }
      return (await this.parents.one(tx, id))!;
    });
  }
}
