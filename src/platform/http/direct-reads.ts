import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type ArgumentMetadata,
  type ExecutionContext,
  type INestApplication,
  type PipeTransform,
  RequestMethod,
  type Type as ClassOf,
} from '@nestjs/common';
import { type AbstractHttpAdapter, type ApplicationConfig, MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { Express, Request, Response } from 'express';
import { Around } from './around.js';
import type { ErrorFilter } from './error.filter.js';
import { type Argument, Plan, type Read, ReadCall } from './read-call.js';
import { type Layer, RouteFinder } from './route-finder.js';

/**
 * Reads go to their handlers by one look-up, and without the router and the observables that the framework puts around each: on a
 * cheap read these cost more than all that is done for it. Everything that a call passes otherwise it passes here, in the same order
 * and by the same objects: middleware, guards, interceptors (each an `Around`), pipes, and the filter of errors. What is no GET, a
 * path that is no plain one, and a handler with decorators of its own beyond path and parameters, go the way of the framework.
 *
 * `pathOf`: what the middleware makes of the path of a call. Routes are looked at when the first call comes: they are all there by then.
 */
export function directReads(app: INestApplication, errors: ErrorFilter, pathOf: (url: string) => string | undefined) {
  let reads: DirectReads | undefined;
  /** False: the call is left to the framework, and nothing has been done with it. */
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.method !== 'GET') return false;
    reads ??= new DirectReads(app, errors, pathOf);
    return reads.take(request as Request, response as Response);
  };
}

/** What is done for the reads of a route. */
interface Way {
  read: Read;
  plan: Plan;
  /** Middleware, and what of it is not for all paths of the route. */
  before: { layer: Layer; always: boolean }[];
}

/** Addresses that are read in one way only: those that need a closer look are looked at by the framework. */
const plainUrl = /^\/[!-"$-~]*$/;

class DirectReads {
  private readonly adapter: AbstractHttpAdapter;
  private readonly express: Express;
  private readonly finder: RouteFinder;
  private readonly ways = new Map<Layer, Way>();
  /** Where Express goes with what fails. */
  private readonly failing: Layer | undefined;

  constructor(
    app: INestApplication,
    private readonly errors: ErrorFilter,
    private readonly pathOf: (url: string) => string | undefined,
  ) {
    this.adapter = app.getHttpAdapter() as AbstractHttpAdapter;
    this.express = this.adapter.getInstance<Express>();
    const layers = this.express.router.stack as unknown as Layer[];
    const { config } = app as unknown as { config: ApplicationConfig };
    const interceptors = config.getGlobalInterceptors();
    const arounds = interceptors.filter((one): one is Around => one instanceof Around);
    this.finder = new RouteFinder(layers);
    this.failing = layers.find(({ handle }) => handle.length === 4);
    const madeForEachCall = [config.getGlobalRequestGuards(), config.getGlobalRequestInterceptors()];
    if (arounds.length < interceptors.length || madeForEachCall.flat().length > 0) return;
    const byPath = readsByPath(app, config.getGlobalPipes());
    layers.forEach((layer, order) => {
      const read = byPath.get(layer.route?.path);
      if (!read || !layer.route?.methods['get']) return;
      const plan = new Plan(config.getGlobalGuards(), arounds, read);
      this.ways.set(layer, { read, plan, before: middlewareOf(String(layer.route.path), layers.slice(0, order)) });
    });
  }

  take(request: Request, response: Response): boolean {
    const { url } = request;
    if (!plainUrl.test(url)) return false;
    const path = this.pathOf(url);
    const found = path === undefined ? undefined : this.find(path);
    const way = found && this.ways.get(found.layer);
    if (!way) return false;
    this.prepare(request, response);
    const { before } = way;
    let passed = 0;
    const go = (cause?: unknown): void => {
      if (cause) return this.refuse(cause, request, response);
      const middleware = before[passed++];
      if (!middleware) {
        // Where the router of Express puts them.
        request.route = found.layer.route;
        request.params = found.params;
        return new ReadCall(request, response, way.plan, way.read, this).go();
      }
      const { layer, always } = middleware;
      if (always || layer.match(path!)) layer.handleRequest(request, response, go);
      else go();
    };
    go();
    return true;
  }

  answer(request: Request, response: Response, body: unknown): void {
    if (!isSent(request, response, body)) void this.adapter.reply(response, body);
  }

  fail(cause: unknown, request: Request, response: Response): void {
    this.errors.answer(cause, request, response);
  }

  /** What middleware fails with the framework looks at before the filter does. */
  private refuse(cause: unknown, request: Request, response: Response): void {
    const last = (failure?: unknown): void => this.fail(failure ?? cause, request, response);
    if (this.failing) this.failing.handleError(cause, request, response, last);
    else last();
  }

  private find(path: string) {
    try {
      return this.finder.find(path);
    } catch {
      return undefined; // a malformed percent sign, of which the router of Express tells
    }
  }

  /** What Express does before its router, as far as it matters here. */
  private prepare(request: Request, response: Response): void {
    // Where the server does not make them so (`HttpAdapter`).
    if (Object.getPrototypeOf(request) !== this.express.request) {
      Object.setPrototypeOf(request, this.express.request);
      Object.setPrototypeOf(response, this.express.response);
    }
    request.res = response;
    request.originalUrl = request.url;
    request.params = {};
  }
}

/** A path in plain words, and one with all that comes below it. */
const plainPath = /^((?:\/[\w-]+)*)(?:\/|\/\*\w+|\/\{\*\w+\})?$/;

/** Middleware that stands before a route, as far as it can be for calls of it. */
function middlewareOf(route: string, layers: readonly Layer[]): Way['before'] {
  return layers
    .filter(({ route: own, handle }) => !own && handle.length <= 3)
    .map((layer) => {
      const plain = typeof layer.rawPath === 'string' ? plainPath.exec(layer.rawPath)?.[1] : undefined;
      return { layer, plain, always: plain !== undefined && (plain === '' || route.startsWith(`${plain}/`)) };
    })
    .filter(({ plain, always }) => always || plain === undefined || route.slice(0, plain.length).includes(':'));
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
