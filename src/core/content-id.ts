import { createHash } from 'node:crypto';

const digits = 12;

/** Id of a deploy that names none: equal for the same content, in whatever order its members stand. */
export function contentId(deploy: object): string {
  const { id: _none, ...content } = deploy as { id?: string };
  return createHash('sha256').update(canonical(content)).digest('hex').slice(0, digits);
}

/** The first of `id`, `id.2`, `id.3`, ... that no deploy of the request has had; one that is too long loses some of `id`. */
export function unusedId(id: string, isUsed: (id: string) => boolean, maxLength: number): string {
  for (let number = 1; ; number++) {
    const end = number === 1 ? '' : `.${number}`;
    const next = `${id.slice(0, Math.max(maxLength - end.length, 0))}${end}`;
    if (!isUsed(next)) return next;
  }
}

/**
 * Text that is equal for values with the same content: members in the order of their names, those without a value left
 * out.
 */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).filter(([, member]) => member !== undefined && member !== null);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}
