import type { INestApplication } from '@nestjs/common';
import type { AbstractHttpAdapter, ApplicationConfig } from '@nestjs/core';
import type { Express, Request, Response } from 'express';
import type { ErrorFilter } from './error.filter.js';
import { DirectCall, type Operation, Plan } from './direct-call.js';
import { directMethods, Operations, surroundingsOf } from './operations.js';
import { PlainAnswer } from './plain/plain-answer.js';
import { type Layer, RouteFinder } from './route-finder.js';

/**
 * Calls go to their handlers by one look-up, and without the router and the observables that the framework puts around each: on a
 * cheap one these cost more than all that is done for it. Everything that a call passes otherwise it passes here, in the same order
 * and by the same objects: middleware, guards, interceptors (each an `Around`), pipes, and the filter of errors. Other methods than
 * GET, POST, PUT and DELETE, a path that is no plain one, and a handler with decorators of another kind go the way of the framework.
 *
 * `pathOf`: what the middleware makes of the path of a call. Routes are looked at when the first call comes: they are all there by then.
 */
export function directCalls(app: INestApplication, errors: ErrorFilter, pathOf: (url: string) => string | undefined) {
  let direct: DirectCalls | undefined;
  /** undefined: such a call is left to the framework. */
  return (method: string, url: string): ((request: Request, response: Response) => void) | undefined => {
    direct ??= new DirectCalls(app, errors, pathOf);
    return direct.find(method, url);
  };
}

/** What is done for the calls of a route. */
interface Way {
  operation: Operation;
  plan: Plan;
  /** Middleware, and what of it is not for all paths of the route. */
  before: { layer: Layer; always: boolean }[];
}

interface Found {
  way: Way;
  path: string;
  found: NonNullable<ReturnType<RouteFinder['find']>>;
}

/** Addresses that are read in one way only: those that need a closer look are looked at by the framework. */
const plainUrl = /^\/[!-"$-~]*$/;

class DirectCalls {
  private readonly adapter: AbstractHttpAdapter;
  private readonly express: Express;
  /** By methods. */
  private readonly finders: ReadonlyMap<string, RouteFinder>;
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
    this.finders = new Map(directMethods.map((method) => [method.toUpperCase(), new RouteFinder(layers, method)]));
    this.failing = layers.find(({ handle }) => handle.length === 4);
    const surroundings = surroundingsOf(config);
    if (!surroundings) return;
    const operations = new Operations(app, surroundings);
    layers.forEach((layer, order) => {
      const { path, methods = {} } = layer.route ?? {};
      const method = directMethods.find((one) => methods[one]);
      const operation = method && operations.of(method, path);
      if (!operation) return;
      const before = middlewareOf(String(path), layers.slice(0, order));
      this.ways.set(layer, { operation, plan: new Plan(operation), before });
    });
  }

  find(method: string, url: string): ((request: Request, response: Response) => void) | undefined {
    const finder = this.finders.get(method);
    if (!finder || !plainUrl.test(url)) return undefined;
    const path = this.pathOf(url);
    const found = path === undefined ? undefined : routeOf(finder, path);
    const way = found && this.ways.get(found.layer);
    return way && ((request, response) => this.go(request, response, { way, path: path!, found }));
  }

  private go(request: Request, response: Response, { way, path, found }: Found): void {
    prepare(request, response);
    const { before } = way;
    let passed = 0;
    const go = (cause?: unknown): void => {
      if (cause) return this.refuse(cause, request, response);
      const middleware = before[passed++];
      if (!middleware) {
        // Where the router of Express puts them.
        request.route = found.layer.route;
        request.params = found.params;
        return new DirectCall(request, response, way.plan, way.operation, this).go();
      }
      const { layer, always } = middleware;
      if (always || layer.match(path)) layer.handleRequest(request, response, go);
      else go();
    };
    go();
  }

  answer(request: Request, response: Response, body: unknown): void {
    if (isSent(request, response, body)) return;
    void this.adapter.reply(response instanceof PlainAnswer ? response.inFull() : response, body);
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
}

function routeOf(finder: RouteFinder, path: string): ReturnType<RouteFinder['find']> {
  try {
    return finder.find(path);
  } catch {
    return undefined; // a malformed percent sign, of which the router of Express tells
  }
}

/** What Express does before its router, as far as it matters here. */
function prepare(request: Request, response: Response): void {
  request.res = response;
  request.originalUrl = request.url;
  request.params = {};
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

const withoutContent = 204;

/** Text and bytes are sent as they are; false: what else there is, such as a stream, is left to the framework. */
function isSent(request: Request, response: Response, body: unknown): boolean {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return false;
  if (response.statusCode === withoutContent) return false;
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
