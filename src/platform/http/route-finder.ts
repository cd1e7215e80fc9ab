/** A step of the stack of Express, as far as it is asked here. */
export interface Layer {
  route?: { path: string | RegExp | unknown[]; methods: Record<string, boolean> };
  handle: (...given: unknown[]) => unknown;
  /** As it was given to the router. */
  rawPath?: unknown;
  match(path: string): false | { params: Record<string, string> };
  handleRequest(request: unknown, response: unknown, next: (cause?: unknown) => void): void;
  handleError(cause: unknown, request: unknown, response: unknown, next: (cause?: unknown) => void): void;
}

interface Entry {
  layer: Layer;
  /** In the order of the stack. */
  order: number;
}

/** What comes after a part of a path. */
interface Place {
  words: Map<string, Place>;
  /** A parameter stands here. */
  any?: Place;
  ends: Entry[];
}

const place = (): Place => ({ words: new Map(), ends: [] });
const parameter = /^:\w+$/;
const word = /^[\w.-]*$/;

/**
 * Finds the route that Express would find, without asking all of them: paths lie in a tree by their parts. What is found there is
 * only proposed; whether it fits is asked of the route itself, and those that are no plain path are asked each time.
 */
export class RouteFinder {
  private readonly root = place();
  private readonly others: Entry[] = [];
  private readonly all: Entry[] = [];

  constructor(layers: readonly Layer[], method: string) {
    layers.forEach((layer, order) => {
      if (layer.route?.methods[method] || layer.route?.methods['_all']) this.add({ layer, order });
    });
  }

  /** The first one that takes this path. */
  find(path: string): { layer: Layer; order: number; params: Record<string, string> } | undefined {
    // Empty parts fit where Express takes one slash more than is written.
    const isPlain = !path.includes('//');
    const found = isPlain ? [...this.others] : [...this.all];
    if (isPlain) collect(this.root, partsOf(path), 0, found);
    if (found.length > 1) found.sort((a, b) => a.order - b.order);
    for (const { layer, order } of found) {
      const match = layer.match(path);
      if (match) return { layer, order, params: match.params };
    }
    return undefined;
  }

  private add(entry: Entry): void {
    const { path } = entry.layer.route!;
    this.all.push(entry);
    const parts = typeof path === 'string' ? partsOf(path) : undefined;
    if (!parts?.every((part) => parameter.test(part) || word.test(part))) {
      this.others.push(entry);
      return;
    }
    let here = this.root;
    for (const part of parts) {
      if (part.startsWith(':')) here = here.any ??= place();
      else {
        const next = here.words.get(part) ?? place();
        here.words.set(part, next);
        here = next;
      }
    }
    here.ends.push(entry);
  }
}

/** A slash at the end makes no difference. */
function partsOf(path: string): string[] {
  const parts = path.split('/');
  if (parts.length > 1 && parts.at(-1) === '') parts.pop();
  return parts;
}

function collect(here: Place, parts: readonly string[], index: number, found: Entry[]): void {
  if (index === parts.length) {
    found.push(...here.ends);
    return;
  }
  const next = here.words.get(parts[index]!);
  if (next) collect(next, parts, index + 1, found);
  if (here.any) collect(here.any, parts, index + 1, found);
}
