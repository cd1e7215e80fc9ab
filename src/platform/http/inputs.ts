import { Body as NestBody, Query as NestQuery, type Type as ClassOf } from '@nestjs/common';

/** A parameter of a handler that is filled from the body, or from one or all parameters of the query. */
interface Input {
  kind: 'body' | 'query';
  index: number;
  /** The one parameter of the query. */
  name?: string;
}

const inputs = new WeakMap<object, Map<string | symbol, Input[]>>();

/** The framework's decorators of parameters; which handler has which is noted, since it does not tell. */
const noting =
  (kind: Input['kind'], decorate: ParameterDecorator, name?: string): ParameterDecorator =>
  (controller, handler, index) => {
    decorate(controller, handler, index);
    const handlers = inputs.get(controller) ?? new Map<string | symbol, Input[]>();
    inputs.set(controller, handlers.set(handler!, [...(handlers.get(handler!) ?? []), { kind, index, name }]));
  };

export const Body = (): ParameterDecorator => noting('body', NestBody());
export const Query = (name?: string): ParameterDecorator => noting('query', name ? NestQuery(name) : NestQuery(), name);

/** The inputs of a handler, each with its declared type, which TypeScript notes beside decorators. */
export function inputsOf(controller: ClassOf, handler: string): (Input & { type: unknown })[] {
  const found: (Input & { type: unknown })[] = [];
  for (let at = controller.prototype as object | null; at; at = Object.getPrototypeOf(at) as object | null) {
    const types = (Reflect.getMetadata('design:paramtypes', at, handler) ?? []) as unknown[];
    for (const input of inputs.get(at)?.get(handler) ?? []) found.push({ ...input, type: types[input.index] });
    if (found.length > 0) break;
  }
  return found;
}
