import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { catchError, from, map, mergeMap, type Observable, of } from 'rxjs';

/** Steps of an interceptor once an operation has begun. */
export interface Steps {
  /** In the place of the operation. */
  answer?: unknown;
  /** With what the operation answered. */
  after?: (value: unknown) => unknown;
  /** Maps a failure to the error that is thrown in its place. */
  failed?: (cause: unknown) => unknown;
}

/** Work around operations, said in steps, so that those who do it need not know observables. */
export abstract class Around implements NestInterceptor {
  /** Before anything is done; what it throws is the answer. undefined: there is nothing more to do. */
  abstract begin(context: ExecutionContext): Steps | undefined | Promise<Steps | undefined>;

  intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    return intercept([this], context, next);
  }
}

/**
 * Several as one, the outermost first: each sees what those within make of an answer or a failure. The framework would put observables and
 * promises of its own around each of them, with every call.
 */
export class AroundAll implements NestInterceptor {
  constructor(private readonly arounds: readonly Around[]) {}

  intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    return intercept(this.arounds, context, next);
  }
}

async function intercept(
  arounds: readonly Around[],
  context: ExecutionContext,
  next: CallHandler,
): Promise<Observable<unknown>> {
  const begun: Steps[] = [];
  const answered = (value: unknown): Promise<unknown> => wayOut(begun, () => value);
  const failed = (cause: unknown): Promise<unknown> =>
    wayOut(begun, () => {
      throw cause;
    });
  for (const around of arounds) {
    try {
      const steps = await around.begin(context);
      if (steps && 'answer' in steps) return from(answered(steps.answer));
      if (steps) begun.push(steps);
    } catch (cause) {
      return from(failed(cause));
    }
  }
  if (begun.length === 0) return next.handle();
  return next.handle().pipe(
    map((value: unknown) => answered(value)),
    catchError((cause: unknown) => of(failed(cause))),
    mergeMap((outcome) => from(outcome)),
  );
}

/** From the innermost on: the steps of one get what the one within it has made of it. */
async function wayOut(begun: readonly Steps[], operation: () => unknown): Promise<unknown> {
  let outcome = operation;
  for (const { after, failed } of begun.toReversed()) {
    try {
      const value = await outcome();
      outcome = after ? () => after(value) : () => value;
    } catch (cause) {
      outcome = () => {
        throw failed ? failed(cause) : cause;
      };
    }
  }
  return outcome();
}
