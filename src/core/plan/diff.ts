/** One field that differs between two documents. An absent side: the field is not there. */
export interface FieldChange {
  /** Names from the outside in, as in `deploy.env.COLOUR` or `deploy.uris[0].cmd`. */
  path: string;
  from?: unknown;
  to?: unknown;
}

/** Every field in which two JSON documents differ, in the order of their names. `path`: what the documents are called. */
export function diffFields(from: unknown, to: unknown, path: string): FieldChange[] {
  const shape = commonShape(from, to);
  if (!shape) return from === to ? [] : [change(path, from, to)];
  const changes = keysOf(shape, from, to).flatMap((key) =>
    diffFields(member(from, key), member(to, key), memberPath(path, shape, key)),
  );
  // An empty list or map has no field to tell of.
  const appears = changes.length === 0 && (from === undefined || to === undefined);
  return appears ? [change(path, from, to)] : changes;
}

type ValueShape = 'LIST' | 'MAP';

const shapeOf = (value: unknown): ValueShape | undefined => {
  if (Array.isArray(value)) return 'LIST';
  return typeof value === 'object' && value !== null ? 'MAP' : undefined;
};

/** Common shape of both sides; an absent side has that of the other. */
function commonShape(from: unknown, to: unknown): ValueShape | undefined {
  const [a, b] = [shapeOf(from), shapeOf(to)];
  if (from === undefined) return b;
  return to === undefined || a === b ? a : undefined;
}

function keysOf(shape: ValueShape, from: unknown, to: unknown): string[] {
  const keys = [...new Set([...Object.keys(from ?? {}), ...Object.keys(to ?? {})])];
  return shape === 'LIST' ? keys.sort((a, b) => Number(a) - Number(b)) : keys.sort();
}

/** Only what the document itself holds: a variable may be called `constructor`. */
const member = (value: unknown, key: string): unknown =>
  value !== undefined && Object.hasOwn(value as object, key) ? (value as Record<string, unknown>)[key] : undefined;

function memberPath(path: string, shape: ValueShape, key: string): string {
  if (shape === 'LIST') return `${path}[${key}]`;
  return /^[A-Za-z_]\w*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

const change = (path: string, from: unknown, to: unknown): FieldChange => ({
  path,
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to }),
});
