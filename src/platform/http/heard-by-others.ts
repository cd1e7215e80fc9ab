import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Words } from '../process/words.js';
import { Around, type Steps } from './around.js';

/** Where an instance is several processes: who has changed something is answered when the others know, who may be called next. */
export class HeardByOthers extends Around {
  constructor(private readonly words: Words) {
    super();
  }

  begin(context: ExecutionContext): Steps | undefined {
    const { method } = context.switchToHttp().getRequest<Request>();
    if (method === 'GET' || method === 'HEAD') return undefined;
    return {
      after: async (value) => {
        await this.words.heard();
        return value;
      },
    };
  }
}
