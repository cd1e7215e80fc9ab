import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { lastValueFrom, type Observable, of } from 'rxjs';

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
  const operation = async (): Promise<unknown> => {
    for (const around of arounds) {
      const begins = around.begin(context);
      const steps = begins instanceof Promise ? await begins : begins;
      if (steps && 'answer' in steps) return steps.answer;
      if (steps) begun.push(steps);
    }
    return lastValueFrom(next.handle(), { defaultValue: undefined });
  };
  return of(await wayOut(await settled(operation), begun));
}

type Outcome = { value: unknown } | { cause: unknown };

async function settled(work: () => unknown): Promise<Outcome> {
  try {
    return { value: await work() };
  } catch (cause) {
    return { cause };
  }
}

/** From the innermost on: the steps of one get what the one within it has made of it. */
async function wayOut(first: Outcome, begun: readonly Steps[]): Promise<unknown> {
  let outcome = first;
  for (const { after, failed } of begun.toReversed()) {
    const inner = outcome;
    if ('cause' in inner) outcome = { cause: failed ? failed(inner.cause) : inner.cause };
    else if (after) outcome = await settled(() => after(inner.value));
  }
  if ('cause' in outcome) throw outcome.cause;
  return outcome.value;
}
