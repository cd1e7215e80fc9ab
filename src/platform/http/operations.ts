import {
  type ArgumentMetadata,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type PipeTransform,
  RequestMethod,
  type Type as ClassOf,
} from '@nestjs/common';
import { type ApplicationConfig, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { Around } from './around.js';
import type { Argument, Operation } from './direct-call.js';

/** Names under which the framework keeps what decorators say. */
const kept = {
  path: 'path',
  method: 'method',
  parameters: '__routeArguments__',
  types: 'design:paramtypes',
  status: '__httpCode__',
  guards: '__guards__',
  interceptors: '__interceptors__',
};
/** Said by decorators of whose work nothing is done here. */
const leftToTheFramework = [
  '__pipes__',
  '__exceptionFilters__',
  '__headers__',
  '__redirect__',
  '__renderTemplate__',
  '__sse__',
  '__version__',
  'host',
];
/** And what kinds of parameters are called there. */
const kinds: Readonly<Record<string, ArgumentMetadata['type']>> = { '3': 'body', '4': 'query', '5': 'param' };
const madeByUs = /^\w+__customRouteArgs__$/;
/** Methods whose operations are called directly, in the words of routes, and what they answer unless told otherwise. */
const statusOf: ReadonlyMap<RequestMethod, readonly [string, number]> = new Map([
  [RequestMethod.GET, ['get', 200]],
  [RequestMethod.POST, ['post', 201]],
  [RequestMethod.PUT, ['put', 200]],
  [RequestMethod.DELETE, ['delete', 200]],
]);
export const directMethods: readonly string[] = [...statusOf.values()].map(([method]) => method);

interface Declared {
  index: number;
  data?: unknown;
  pipes: unknown[];
  factory?: (data: unknown, context: ExecutionContext) => unknown;
}

/** Makes what a decorator was given, an object or a class, the object that the framework would use. */
type Provided = (given: unknown) => unknown;

/** What stands around the operations of all handlers. */
export interface Surroundings {
  guards: readonly CanActivate[];
  arounds: readonly Around[];
  pipes: readonly PipeTransform[];
}

/** undefined: some of it is made anew for each call, or is an interceptor that says nothing of its steps. */
export function surroundingsOf(config: ApplicationConfig): Surroundings | undefined {
  const arounds = onlyArounds(config.getGlobalInterceptors());
  const madeForEachCall = [
    config.getGlobalRequestGuards(),
    config.getGlobalRequestInterceptors(),
    config.getGlobalRequestPipes(),
  ];
  if (!arounds || madeForEachCall.flat().length > 0) return undefined;
  return { guards: config.getGlobalGuards(), arounds, pipes: config.getGlobalPipes() };
}

const onlyArounds = (interceptors: readonly unknown[]): readonly Around[] | undefined =>
  interceptors.every((one) => one instanceof Around) ? interceptors : undefined;

/** All handlers that can be called directly. */
export class Operations {
  private readonly found = new Map<string, Operation | undefined>();

  constructor(
    app: INestApplication,
    private readonly all: Surroundings,
  ) {
    for (const { controllers, injectables } of app.get(ModulesContainer).values()) {
      const provided: Provided = (given) => {
        if (typeof given !== 'function') return given;
        const wrapper = injectables.get(given);
        return wrapper?.isDependencyTreeStatic() ? wrapper.instance : undefined;
      };
      for (const { instance, metatype } of controllers.values())
        this.addAll(instance as Operation['controller'], metatype as ClassOf, provided);
    }
  }

  /** Of the route with this method and path. */
  of(method: string, path: unknown): Operation | undefined {
    return this.found.get(`${method} ${String(path)}`);
  }

  private addAll(controller: Operation['controller'], metatype: ClassOf, provided: Provided): void {
    for (const name of new MetadataScanner().getAllMethodNames(Object.getPrototypeOf(controller) as object)) {
      const handler = (controller as Record<string, Operation['handler']>)[name]!;
      const method = statusOf.get(Reflect.getMetadata(kept.method, handler) as RequestMethod);
      if (!method) continue;
      for (const path of pathsOf(metatype, handler)) {
        const key = `${method[0]} ${path}`;
        // What has two of them is left to the framework.
        this.found.set(
          key,
          this.found.has(key) ? undefined : this.operation(controller, metatype, name, method[1], provided),
        );
      }
    }
  }

  /** undefined: the framework has more to do for it. */
  private operation(
    controller: Operation['controller'],
    metatype: ClassOf,
    name: string,
    usualStatus: number,
    provided: Provided,
  ): Operation | undefined {
    const handler = (controller as Record<string, Operation['handler']>)[name]!;
    const said = (key: string): unknown[] =>
      [metatype, handler].map((one) => Reflect.getMetadata(key, one) as unknown).filter((one) => one !== undefined);
    if (leftToTheFramework.some((key) => said(key).length > 0)) return undefined;
    const guards = said(kept.guards).flat().map(provided) as CanActivate[];
    const arounds = onlyArounds(said(kept.interceptors).flat().map(provided));
    const takes = argumentsOf(metatype, name, this.all.pipes, provided);
    if (!takes || !arounds || guards.includes(undefined as never)) return undefined;
    return {
      controller,
      handler,
      guards: [...this.all.guards, ...guards],
      status: (Reflect.getMetadata(kept.status, handler) as number | undefined) ?? usualStatus,
      arounds: [...this.all.arounds, ...arounds],
      takes,
    };
  }
}

function pathsOf(controller: ClassOf, handler: object): string[] {
  const [base, below] = [controller, handler].map((one) =>
    [Reflect.getMetadata(kept.path, one) as string | string[]].flat(),
  );
  return base!.flatMap((first) =>
    below!.map((second) => `/${[first, second].flatMap((path) => path.replace(/^\/+|\/+$/g, '') || []).join('/')}`),
  );
}

/** undefined: the framework has more to do for one of them. */
function argumentsOf(
  controller: ClassOf,
  name: string,
  pipes: readonly PipeTransform[],
  provided: Provided,
): Argument[] | undefined {
  const types = (Reflect.getMetadata(kept.types, controller.prototype as object, name) ?? []) as ClassOf[];
  const declared = (Reflect.getMetadata(kept.parameters, controller, name) ?? {}) as Record<string, Declared>;
  const takes: Argument[] = [];
  for (const [key, { index: at, data, pipes: given, factory }] of Object.entries(declared)) {
    const [kind = ''] = key.split(':');
    const own = given.map(provided) as PipeTransform[];
    if (factory && madeByUs.test(kind) && own.length === 0) {
      takes.push({ at, take: (call) => factory(data, call) });
      continue;
    }
    const type = kinds[kind];
    if (!type || (data !== undefined && typeof data !== 'string') || own.includes(undefined as never)) return undefined;
    const metadata: ArgumentMetadata = { type, data, metatype: types[at] };
    const passed = [...pipes, ...own];
    const take: Argument['take'] = (call) => {
      const all = partOf(call.getRequest(), type);
      return throughPipes(passed, data === undefined ? all : all?.[data], metadata);
    };
    takes.push({ at, take });
  }
  return takes;
}

function partOf(
  request: { body?: unknown; query: object; params: object },
  type: ArgumentMetadata['type'],
): Record<string, unknown> | undefined {
  const part = type === 'body' ? request.body : type === 'query' ? request.query : request.params;
  return part as Record<string, unknown> | undefined;
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
