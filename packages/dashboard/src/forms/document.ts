/** A request or a deploy while it is being written: members that the form does not know stay in it. */
export type Document = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function valueAt(document: Document, path: string): unknown {
  let at: unknown = document;
  for (const name of path.split('.')) at = isRecord(at) ? at[name] : undefined;
  return at;
}

/** The document with another value at a path. Without a value the member goes, and what was empty but for it. */
export function withValue(document: Document, path: string, value: unknown): Document {
  const [name = '', ...rest] = path.split('.');
  const { [name]: present, ...others } = document;
  if (rest.length === 0) return value === undefined ? others : { ...document, [name]: value };
  const inner = withValue(isRecord(present) ? present : {}, rest.join('.'), value);
  return Object.keys(inner).length === 0 ? others : { ...document, [name]: inner };
}

/** "NAME=value" a line; a line without = names a variable that is empty. */
export const mapToText = (value: unknown): string =>
  isRecord(value)
    ? Object.entries(value)
        .map(([name, each]) => `${name}=${String(each)}`)
        .join('\n')
    : '';

export function textToMap(text: string): Record<string, string> | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return undefined;
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=');
      return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1)];
    }),
  );
}

export const listToText = (value: unknown): string => (Array.isArray(value) ? value.map(String).join('\n') : '');

export function textToList(text: string): string[] | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.length === 0 ? undefined : lines;
}
