import type { Route } from './routes.js';

interface Node<T> {
  readonly fixed: Map<string, Node<T>>;
  any: Node<T> | undefined;
  end: T | undefined;
}

export interface Match<T> {
  readonly handler: T;
  /** The segments that path parameters took, in order. */
  readonly values: readonly string[];
}

/** Order in which `Allow` names methods. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Finds the handler of a method and path. Unambiguity was checked before: at most one pattern of a method fits. */
export class Router<T> {
  private readonly roots = new Map<string, Node<T>>();

  add(route: Pick<Route, 'operation' | 'pattern'>, handler: T): void {
    const { method } = route.operation;
    let node = this.roots.get(method);
    if (!node) this.roots.set(method, (node = newNode()));
    for (const part of route.pattern) node = typeof part === 'string' ? childOf(node, part) : (node.any ??= newNode());
    node.end = handler;
  }

  find(method: string, path: readonly string[]): Match<T> | undefined {
    const root = this.roots.get(method);
    if (!root) return undefined;
    const values: string[] = [];
    const handler = walk(root, path, 0, values);
    return handler === undefined ? undefined : { handler, values };
  }

  /** The methods a path can be asked with; none when it is unknown. */
  methodsOf(path: readonly string[]): string[] {
    const found = new Set([...this.roots.keys()].filter((method) => this.find(method, path)));
    if (found.size === 0) return [];
    if (found.has('GET')) found.add('HEAD');
    found.add('OPTIONS');
    return METHODS.filter((method) => found.has(method));
  }
}

const newNode = <T>(): Node<T> => ({ fixed: new Map(), any: undefined, end: undefined });

function childOf<T>(node: Node<T>, segment: string): Node<T> {
  let child = node.fixed.get(segment);
  if (!child) node.fixed.set(segment, (child = newNode()));
  return child;
}

/** Fixed text first, then any value: `/a/b/c` and `/a/{x}/d` may stand side by side. */
function walk<T>(node: Node<T>, path: readonly string[], index: number, values: string[]): T | undefined {
  const segment = path[index];
  if (segment === undefined) return node.end;
  const fixed = node.fixed.get(segment);
  if (fixed) {
    const found = walk(fixed, path, index + 1, values);
    if (found !== undefined) return found;
  }
  if (!node.any) return undefined;
  const before = values.length;
  values.push(segment);
  const found = walk(node.any, path, index + 1, values);
  if (found === undefined) values.length = before;
  return found;
}
