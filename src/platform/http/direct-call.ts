import { type CanActivate, type ExecutionContext, ForbiddenException } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { Request, Response } from 'express';
import { isObservable, lastValueFrom } from 'rxjs';
import { isPromise } from '../async.js';
import type { Around, Steps } from './around.js';

/** Takes what a parameter of a handler stands for out of a call. */
export interface Argument {
  /** Its place among the parameters. */
  at: number;
  take(call: DirectCall): unknown;
}

/** A handler, with all that a call of it passes, in this order. */
export interface Operation {
  controller: object;
  guards: readonly CanActivate[];
  /** Of its answer, once a call is let in. */
  status: number;
  arounds: readonly Around[];
  /** In the order in which the framework looks at them. */
  takes: readonly Argument[];
  handler: (...given: unknown[]) => unknown;
}

/** A part of what is done for a call: what `begin` makes, at once or later, `take` gets. */
interface Part {
  begin(call: DirectCall): unknown;
  take(call: DirectCall, made: unknown): void;
}

/** All that is done for a call of an operation, in order. */
export class Plan {
  readonly parts: readonly Part[];

  constructor({ controller, guards, status, arounds, takes, handler }: Operation) {
    this.parts = [
      ...guards.map((guard) => ({ begin: (call: DirectCall) => guard.canActivate(call), take: letIn })),
      { begin: () => status, take: takeStatus },
      ...arounds.map((around) => ({ begin: (call: DirectCall) => around.begin(call), take: enter })),
      { begin: (call: DirectCall) => allOf(takes, call), take: takeArguments },
      { begin: (call: DirectCall) => settled(handler.apply(controller, call.given)), take: takeValue },
    ];
  }
}

/** All begin at once, as in the framework: of several that fail, the one that is first known to is told. */
function allOf(takes: readonly Argument[], call: DirectCall): unknown {
  const made: unknown[] = [];
  try {
    for (const { at, take } of takes) made[at] = take(call);
  } catch (cause) {
    for (const one of made) if (isPromise(one)) one.then(undefined, () => undefined);
    throw cause;
  }
  return made.some(isPromise) ? Promise.all(made) : made;
}

function letIn(_call: DirectCall, isLetIn: unknown): void {
  if (!isLetIn) throw new ForbiddenException('Forbidden resource');
}

const takeStatus = (call: DirectCall, status: unknown): void => void (call.getResponse().statusCode = status as number);
const enter = (call: DirectCall, steps: unknown): void => call.enter(steps as Steps | undefined);
const takeArguments = (call: DirectCall, values: unknown): void => void (call.given = values as unknown[]);
const takeValue = (call: DirectCall, value: unknown): void => void (call.value = value);
const settled = (result: unknown): unknown => (isObservable(result) ? lastValueFrom(result) : result);

/**
 * One call on its way through its plan. What is known at once is taken at once: a promise for each part costs more than most parts.
 * It is also what guards and interceptors are given of the call; the framework makes three functions each time it is asked for it.
 */
export class DirectCall extends ExecutionContextHost implements ExecutionContext {
  given: unknown[] = [];
  value: unknown;
  private readonly begun: Steps[] = [];
  private next = 0;
  private part: Part | undefined;

  constructor(
    private readonly request: Request,
    private readonly response: Response,
    private readonly plan: Plan,
    { controller, handler }: Operation,
    private readonly done: { answer(call: Request, response: Response, body: unknown): void; fail: Failed },
  ) {
    super([request, response], controller.constructor as never, handler as never);
  }

  override switchToHttp(): ReturnType<ExecutionContextHost['switchToHttp']> {
    return this as unknown as ReturnType<ExecutionContextHost['switchToHttp']>;
  }

  getRequest<T = Request>(): T {
    return this.request as T;
  }

  getResponse<T = Response>(): T {
    return this.response as T;
  }

  getNext<T>(): T {
    return undefined as T;
  }

  go(): void {
    try {
      while (this.hasMore()) {
        const made = this.begin();
        if (isPromise(made)) return void made.then(this.goOn, this.fail);
        this.part!.take(this, made);
      }
      this.done.answer(this.request, this.response, this.value);
    } catch (cause) {
      this.fail(cause);
    }
  }

  /** Where an operation need not be done, there is its answer; else what is to be done after it. */
  enter(steps: Steps | undefined): void {
    if (!steps) return;
    if ('answer' in steps) {
      this.value = steps.answer;
      this.next = this.plan.parts.length;
    } else this.begun.push(steps);
  }

  private readonly goOn = (made: unknown): void => {
    try {
      this.part!.take(this, made);
    } catch (cause) {
      return this.fail(cause);
    }
    this.go();
  };

  private readonly fail = (cause: unknown): void => {
    const told = this.begun.reduceRight((failure: unknown, { failed }) => (failed ? failed(failure) : failure), cause);
    this.done.fail(told, this.request, this.response);
  };

  private hasMore(): boolean {
    return this.next < this.plan.parts.length || this.begun.length > 0;
  }

  private begin(): unknown {
    this.part = this.plan.parts[this.next];
    if (this.part) {
      this.next++;
      return this.part.begin(this);
    }
    this.part = shaping;
    const { after } = this.begun.pop()!;
    return after ? after(this.value) : this.value;
  }
}

type Failed = (cause: unknown, request: Request, response: Response) => void;
const shaping: Part = { begin: () => undefined, take: takeValue };
