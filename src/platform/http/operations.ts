import {
  type ArgumentMetadata,
  type ExecutionContext,
  type INestApplication,
  type PipeTransform,
  RequestMethod,
  type Type as ClassOf,
} from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { Argument, Operation } from './direct-call.js';

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
export function operationsByPath(
  app: INestApplication,
  pipes: readonly PipeTransform[],
): ReadonlyMap<unknown, Operation> {
  const found = new Map<string, Operation | undefined>();
  for (const { controllers } of app.get(ModulesContainer).values()) {
    for (const { instance, metatype } of controllers.values()) {
      const controller = instance as Record<string, Operation['handler']>;
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
  return new Map([...found].filter(([, operation]) => operation !== undefined)) as ReadonlyMap<unknown, Operation>;
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
