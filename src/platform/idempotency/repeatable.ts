import { SetMetadata, type ExecutionContext } from '@nestjs/common';

const isRepeatable = 'muster:repeatable';

/** An operation that does no harm when it is done twice, and whose answer must not be kept: Idempotency-Key means nothing to it. */
export const Repeatable = () => SetMetadata(isRepeatable, true);

export const mayBeRepeated = (context: ExecutionContext): boolean =>
  Reflect.getMetadata(isRepeatable, context.getHandler()) === true;
