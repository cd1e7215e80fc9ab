import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { catchError, from, mergeMap, type Observable, of, throwError } from 'rxjs';

/** Steps of an interceptor once an operation has begun. */
export interface Steps {
  /** In the place of the operation. */
  answer?: unknown;
  /** With what the operation answered. */
  after?: (value: unknown) => unknown;
  /** Maps a failure to the error that is thrown in its place. */
  failed?: (cause: unknown) => unknown;
}

/** An interceptor whose work is said in steps, so that those of it need not know observables. */
export abstract class Around implements NestInterceptor {
  /** Before anything is done; what it throws is the answer. undefined: there is nothing more to do. */
  abstract begin(context: ExecutionContext): Steps | undefined | Promise<Steps | undefined>;

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const steps = await this.begin(context);
    if (!steps) return next.handle();
    if ('answer' in steps) return of(steps.answer);
    const { after, failed } = steps;
    const answered = failed
      ? next.handle().pipe(catchError((cause: unknown) => throwError(() => failed(cause))))
      : next.handle();
    return after ? answered.pipe(mergeMap((value) => from(Promise.resolve(after(value))))) : answered;
  }
}
