/**
 * The `property` parameter of list reads: dotted paths of members to keep, with a leading '!' to drop, '*' for any name.
 * A path that only drops keeps everything else.
 */
export function filterProperties(value: unknown, properties: readonly string[]): unknown {
  const dropped = properties.filter((path) => path.startsWith('!')).map((path) => path.slice(1).split('.'));
  const kept = properties.filter((path) => !path.startsWith('!')).map((path) => path.split('.'));
  return select(value, kept.length > 0 ? kept : [[]], dropped);
}

type Paths = readonly (readonly string[])[];

/** An empty path in `kept` says: all from here on. */
function select(value: unknown, kept: Paths, dropped: Paths): unknown {
  if (Array.isArray(value)) return value.map((member) => select(member, kept, dropped));
  if (value === null || typeof value !== 'object') return value;
  const all = kept.some((path) => path.length === 0);
  const result: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const inner = all ? [[]] : below(kept, name);
    const gone = below(dropped, name);
    if (inner.length === 0 || gone.some((path) => path.length === 0)) continue;
    result[name] = select(member, inner, gone);
  }
  return result;
}

const below = (paths: Paths, name: string): Paths =>
  paths.filter(([head]) => head === name || head === '*').map((path) => path.slice(1));
