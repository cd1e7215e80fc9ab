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

const neededAction = 'neededAction';

/** Lets a call through unless the action that its handler needs is switched off. */
@Injectable()
class ActionGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly actions: DisabledActions,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const places = [context.getHandler(), context.getClass()];
    const action = this.reflector.getAllAndOverride<ActionType | undefined>(neededAction, places);
    if (action) await this.actions.refuse(action);
    return true;
  }
}

/**
 * On a handler, or on a controller for all its handlers: 409 while the action is switched off. Where the action depends
 * on what is asked for, the service asks `DisabledActions.refuse` instead.
 */
export const NeedsAction = (action: ActionType) =>
  applyDecorators(
    SetMetadata(neededAction, action),
    UseGuards(ActionGuard),
    ApiConflictResponse({ type: ErrorDto, description: `Action ${action} is disabled, or the state forbids it.` }),
  );
