import {
  type ArgumentMetadata,
  type CanActivate,
  type ExecutionContext,
  ForbiddenException,
  type INestApplication,
  type PipeTransform,
  RequestMethod,
  type Type as ClassOf,
} from '@nestjs/common';
import { type AbstractHttpAdapter, type ApplicationConfig, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { Express, NextFunction, Request, RequestHandler, Response } from 'express';
import { isObservable, lastValueFrom } from 'rxjs';
import { Around, type Steps } from './around.js';
import type { ErrorFilter } from './error.filter.js';
import { type Layer, RouteFinder } from './route-finder.js';

/**
 * Reads go to their handlers by one look-up, and without the observables that the framework puts around each: on a cheap read these
 * cost more than all that is done for it. Everything that a call passes otherwise it passes here, in the same order and by the same
 * objects: middleware of modules, guards, interceptors (each an `Around`), pipes, and the filter of errors. What is no GET, and a
 * handler with decorators of its own beyond path and parameters, goes the way of the framework.
 *
 * Used after all that is the same for every call. Routes are looked at when the first call comes: they are all there by then.
 */
export function directReads(app: INestApplication, errors: ErrorFilter): RequestHandler {
  let reads: DirectReads | undefined;
  const take = (request: Request, response: Response, next: NextFunction): void => {
    if (request.method !== 'GET') return next();
    reads ??= new DirectReads(app, take, errors);
    reads.take(request, response, next);
  };
  return take;
}

/** Takes what a parameter of a handler stands for out of a call. */
type Argument = (context: ReadContext) => unknown;

/** A handler of a GET. */
interface Read {
  controller: object;
  handler: (...given: unknown[]) => unknown;
  takes: readonly Argument[];
}

class DirectReads {
  private readonly adapter: AbstractHttpAdapter;
  private readonly guards: readonly CanActivate[];
  private readonly arounds: readonly Around[];
  private readonly finder: RouteFinder;
  private readonly reads = new Map<Layer, Read>();
  /** What stands between this and the routes: middleware of modules, each with the paths that it is for. */
  private readonly between: { layer: Layer; order: number }[] = [];

  constructor(
    app: INestApplication,
    self: unknown,
    private readonly errors: ErrorFilter,
  ) {
    this.adapter = app.getHttpAdapter() as AbstractHttpAdapter;
    const layers = this.adapter.getInstance<Express>().router.stack as unknown as Layer[];
    const { config } = app as unknown as { config: ApplicationConfig };
    const interceptors = config.getGlobalInterceptors();
    this.arounds = interceptors.filter((one): one is Around => one instanceof Around);
    this.guards = config.getGlobalGuards();
    this.finder = new RouteFinder(layers);
    const own = layers.findIndex(({ handle }) => handle === self);
    layers.forEach((layer, order) => {
      if (order > own && !layer.route && layer.handle.length <= 3) this.between.push({ layer, order });
    });
    const madeForEachCall = [config.getGlobalRequestGuards(), config.getGlobalRequestInterceptors()];
    if (this.arounds.length < interceptors.length || madeForEachCall.flat().length > 0) return;
    const byPath = readsByPath(app, config.getGlobalPipes());
    for (const layer of layers) {
      const read = byPath.get(layer.route?.path);
      if (read && layer.route?.methods['get']) this.reads.set(layer, read);
    }
  }

  take(request: Request, response: Response, next: NextFunction): void {
    const { path } = request;
    const found = this.find(path);
    const read = found && this.reads.get(found.layer);
    if (!read) return next();
    const before = this.between.filter(({ layer, order }) => order < found.order && layer.match(path));
    let passed = 0;
    const go = (cause?: unknown): void => {
      if (cause) return next(cause);
      const middleware = before[passed++];
      if (middleware) return middleware.layer.handleRequest(request, response, go);
      // Where the router of Express puts them.
      request.route = found.layer.route;
      request.params = found.params;
      const context = new ReadContext([request, response, next], read.controller.constructor as ClassOf, read.handler);
      this.answer(context, read)
        .then((body) => (isSent(request, response, body) ? undefined : this.adapter.reply(response, body)))
        .catch((failure: unknown) => this.errors.answer(failure, request, response));
    };
    go();
  }

  private find(path: string) {
    try {
      return this.finder.find(path);
    } catch {
      return undefined; // a malformed percent sign, of which the router of Express tells
    }
  }

  private async answer(context: ReadContext, { controller, handler, takes }: Read): Promise<unknown> {
    for (const guard of this.guards)
      if (!(await guard.canActivate(context))) throw new ForbiddenException('Forbidden resource');
    const begun: Steps[] = [];
    try {
      let value: unknown;
      let isAnswered = false;
      for (const around of this.arounds) {
        const beginning = around.begin(context);
        const steps = beginning instanceof Promise ? await beginning : beginning;
        if (!steps) continue;
        isAnswered = 'answer' in steps;
        if (isAnswered) {
          value = steps.answer;
          break;
        }
        begun.push(steps);
      }
      if (!isAnswered) {
        const given: unknown[] = [];
        for (const take of takes) {
          const taken = take(context);
          given.push(taken instanceof Promise ? await taken : taken);
        }
        const result = await handler.apply(controller, given);
        value = isObservable(result) ? await lastValueFrom(result) : result;
      }
      for (let steps = begun.pop(); steps; steps = begun.pop()) {
        if (!steps.after) continue;
        const made = steps.after(value);
        value = made instanceof Promise ? await made : made;
      }
      return value;
    } catch (cause) {
      throw begun.reduceRight((failure: unknown, { failed }) => (failed ? failed(failure) : failure), cause);
    }
  }
}

/** As the framework gives it to guards and interceptors; that makes three functions each time it is asked for the call. */
class ReadContext extends ExecutionContextHost implements ExecutionContext {
  override switchToHttp(): ReturnType<ExecutionContextHost['switchToHttp']> {
    return this as unknown as ReturnType<ExecutionContextHost['switchToHttp']>;
  }

  getRequest<T = Request>(): T {
    return this.getArgByIndex<T>(0);
  }

  getResponse<T = Response>(): T {
    return this.getArgByIndex<T>(1);
  }

  getNext<T = NextFunction>(): T {
    return this.getArgByIndex<T>(2);
  }
}

/** Text and bytes are sent as they are; false: what else there is, such as a stream, is left to the framework. */
function isSent(request: Request, response: Response, body: unknown): boolean {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return false;
  const { headers } = request;
  if (headers['if-none-match'] !== undefined || headers['if-modified-since'] !== undefined) {
    response.send(body);
    return true;
  }
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  response.setHeader('Content-Length', length);
  // Nothing but ASCII: the text goes out together with the headers.
  if (typeof body === 'string') response.end(body, length === body.length ? 'latin1' : 'utf8');
  else response.end(body);
  return true;
}

/** Names under which the framework keeps what decorators say. */
const kept = { path: 'path', method: 'method', parameters: '__routeArguments__', types: 'design:paramtypes' };
const ofItsOwn = [
  '__guards__',
  '__interceptors__',
  '__pipes__',
  '__exceptionFilters__',
  '__httpCode__',
  '__headers__',
  '__redirect__',
  '__renderTemplate__',
  '__sse__',
  '__version__',
  'host',
];
/** And what kinds of parameters are called there. */
const kinds: Readonly<Record<string, ArgumentMetadata['type']>> = { '4': 'query', '5': 'param' };
const madeByUs = /^\w+__customRouteArgs__$/;

interface Declared {
  index: number;
  data?: unknown;
  pipes: unknown[];
  factory?: (data: unknown, context: ExecutionContext) => unknown;
}

/** All handlers that can be called directly, by the paths of their routes. */
function readsByPath(app: INestApplication, pipes: readonly PipeTransform[]): ReadonlyMap<unknown, Read> {
  const found = new Map<string, Read | undefined>();
  for (const { controllers } of app.get(ModulesContainer).values()) {
    for (const { instance, metatype } of controllers.values()) {
      const controller = instance as Record<string, Read['handler']>;
      for (const name of new MetadataScanner().getAllMethodNames(Object.getPrototypeOf(controller) as object)) {
        const handler = controller[name]!;
        if (Reflect.getMetadata(kept.method, handler) !== RequestMethod.GET) continue;
        for (const path of pathsOf(metatype as ClassOf, handler)) {
          // What has two of them is left to the framework.
          const takes = found.has(path) ? undefined : argumentsOf(metatype as ClassOf, name, handler, pipes);
          found.set(path, takes && { controller, handler, takes });
        }
      }
    }
  }
  return new Map([...found].filter(([, read]) => read !== undefined)) as ReadonlyMap<unknown, Read>;
}

function pathsOf(controller: ClassOf, handler: object): string[] {
  const [base, below] = [controller, handler].map((one) =>
    [Reflect.getMetadata(kept.path, one) as string | string[]].flat(),
  );
  return base!.flatMap((first) =>
    below!.map((second) => `/${[first, second].flatMap((path) => path.replace(/^\/+|\/+$/g, '') || []).join('/')}`),
  );
}

/** undefined: the framework has more to do for it. */
function argumentsOf(
  controller: ClassOf,
  name: string,
  handler: object,
  pipes: readonly PipeTransform[],
): Argument[] | undefined {
  if ([controller, handler].some((one) => ofItsOwn.some((key) => Reflect.getMetadata(key, one) !== undefined)))
    return undefined;
  const types = (Reflect.getMetadata(kept.types, controller.prototype as object, name) ?? []) as ClassOf[];
  const declared = (Reflect.getMetadata(kept.parameters, controller, name) ?? {}) as Record<string, Declared>;
  const takes: Argument[] = [];
  for (const [key, { index, data, pipes: own, factory }] of Object.entries(declared)) {
    const [kind = ''] = key.split(':');
    if (own.length > 0) return undefined;
    if (factory && madeByUs.test(kind)) {
      takes[index] = (context) => factory(data, context);
      continue;
    }
    const type = kinds[kind];
    if (!type || (data !== undefined && typeof data !== 'string')) return undefined;
    const metadata: ArgumentMetadata = { type, data, metatype: types[index] };
    takes[index] = (context) => {
      const all = type === 'query' ? context.getRequest().query : context.getRequest().params;
      return throughPipes(pipes, data === undefined ? all : all[data], metadata);
    };
  }
  return Array.from(takes, (take) => take ?? (() => undefined));
}

function throughPipes(pipes: readonly PipeTransform[], given: unknown, metadata: ArgumentMetadata): unknown {
  return pipes.reduce(
    (value: unknown, pipe) =>
      value instanceof Promise
        ? value.then((one: unknown) => pipe.transform(one, metadata) as unknown)
        : (pipe.transform(value, metadata) as unknown),
    given,
  );
}
