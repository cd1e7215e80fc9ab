import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { ProcessMessages } from '../process/process-messages.js';
import { Around, type Steps } from './around.js';

/** A change is answered when the other processes of the instance have been told what it invalidates: they may be called next. */
export class CrossProcessInvalidation extends Around {
  constructor(private readonly messages: ProcessMessages) {
    super();
  }

  begin(context: ExecutionContext): Steps | undefined {
    const { method } = context.switchToHttp().getRequest<Request>();
    if (method === 'GET' || method === 'HEAD') return undefined;
    return {
      after: async (value) => {
        await this.messages.delivered();
        return value;
      },
    };
  }
}
