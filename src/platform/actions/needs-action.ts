import {
  applyDecorators,
  Injectable,
  SetMetadata,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiConflictResponse } from '@nestjs/swagger';
import type { ActionType } from '../../core/model/enums.js';
import { ErrorDto } from '../http/error.dto.js';
import { DisabledActions } from './disabled-actions.js';

const neededActions = 'neededActions';

/** Lets a call through unless an action that its handler needs is switched off. */
@Injectable()
class ActionGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly actions: DisabledActions,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const places = [context.getHandler(), context.getClass()];
    const actions = this.reflector.getAllAndOverride<ActionType[] | undefined>(neededActions, places) ?? [];
    for (const action of actions) await this.actions.refuseForAll(action);
    return true;
  }
}

/**
 * On a handler, or on a controller for all its handlers: 409 while one of the actions is switched off. Where the action depends
 * on what is asked for, the service asks `DisabledActions.refuse` instead. For an action that some groups may still take, the service
 * asks `refuseFor` as well.
 */
export const NeedsAction = (...actions: ActionType[]) =>
  applyDecorators(
    SetMetadata(neededActions, actions),
    UseGuards(ActionGuard),
    ApiConflictResponse({
      type: ErrorDto,
      description: `Action ${actions.join(' or ')} is disabled, or the state forbids it.`,
    }),
  );
