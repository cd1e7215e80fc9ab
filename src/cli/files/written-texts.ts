import { type Document, isAlias, isCollection, isMap, isNode, isScalar, isSeq, type Node, type Scalar } from 'yaml';
import { definitionOf, type Schema } from './check.js';

/** Refuses a document, at a place of it. */
export type Refuse = (node: Node, message: string) => never;

/**
 * YAML takes 010, 1e3, 1.10, .inf, dates and yes-or-no words of its own for numbers, times, booleans and nothing. Where the schema
 * means a text they are kept as the file has them; an entry without a value in a map or list of texts, and what JSON cannot say (a
 * number that is not finite, a key that is no text, a set), are refused.
 */
export function keepTextsAsWritten(schema: Schema, document: Document.Parsed, refuse: Refuse): void {
  new WrittenTexts(schema, document, refuse).walk(document.contents, [schema], '', false);
}

class WrittenTexts {
  constructor(
    private readonly root: Schema,
    private readonly document: Document.Parsed,
    private readonly refuse: Refuse,
  ) {}

  /** `given`: what the node may be. `isEntry`: of a map or a list, and no member of a record, which may be left out. */
  walk(node: unknown, given: readonly Schema[], path: string, isEntry: boolean): void {
    const schemas = given.flatMap((schema) => this.alternatives(schema));
    if (isAlias(node)) return this.walk(node.resolve(this.document), given, path, isEntry);
    if (isScalar(node)) return this.keep(node, schemas, path, isEntry);
    if (isCollection(node) && node.tag !== undefined && !/:(map|seq)$/.test(node.tag))
      this.refuse(
        node,
        `${path || 'the document'} must be a map or a list, without the tag ${node.tag.replace(/^.*:/, '!!')}`,
      );
    if (isSeq(node)) {
      const items = schemas.flatMap(({ items: one }) => one ?? []);
      node.items.forEach((item, index) => this.walk(item, items, `${path}.${index}`, true));
    }
    if (!isMap(node)) return;
    const names = new Set<string>();
    for (const { key, value } of node.items) {
      if (!isScalar(key)) this.refuse(isNode(key) ? key : node, `${path || 'the document'} has a key that is no text`);
      if (isNoText(key) && key.source !== undefined) key.value = key.source;
      // What is merged in stands for members of this map.
      if (key.source === '<<' && key.type === 'PLAIN') {
        const merged = isSeq(value) ? value.items : [value];
        for (const one of merged) this.walk(one, given, path, false);
        continue;
      }
      const name = String(key.value);
      const at = path === '' ? name : `${path}.${name}`;
      // YAML takes 1 and "1" for two keys.
      if (names.has(name)) this.refuse(key, `${at} is given twice`);
      names.add(name);
      const members = schemas.flatMap(({ properties }) => properties?.[name] ?? []);
      const others = schemas.flatMap(({ additionalProperties: any }) => (typeof any === 'object' ? any : []));
      const isMember = members.length > 0;
      const inner = isMember ? members : others;
      // `{ A }` and `? A` are keys without so much as an empty value.
      if (value === null && !isMember && this.isText(inner.flatMap((one) => this.alternatives(one))))
        this.refuse(key, noValue(at));
      this.walk(value, inner, at, !isMember);
    }
  }

  private keep(node: Scalar, schemas: readonly Schema[], path: string, isEntry: boolean): void {
    const isText = this.isText(schemas);
    if (isText && node.value === null && isEntry) this.refuse(node as Node, noValue(path));
    if (isText && isNoText(node) && node.source !== undefined && node.value !== null) node.value = node.source;
    if (typeof node.value === 'number' && !Number.isFinite(node.value))
      this.refuse(node as Node, `${path} must be a finite number`);
  }

  private isText(schemas: readonly Schema[]): boolean {
    return schemas.some(({ type }) => [type].flat().includes('string'));
  }

  private alternatives(schema: Schema): Schema[] {
    const { $ref, allOf = [], anyOf = [], oneOf = [] } = schema;
    const target = definitionOf($ref, this.root);
    const inner = [...(target ? [target] : []), ...allOf, ...anyOf, ...oneOf];
    return [schema, ...inner.flatMap((one) => this.alternatives(one))];
  }
}

const noValue = (path: string): string => `${path} has no value: write "" for an empty text`;

const isNoText = ({ value }: Scalar): boolean =>
  value === null || value instanceof Date || ['number', 'boolean', 'bigint'].includes(typeof value);

/** The probable meaning of a line at which the parser failed; undefined: none that is known. */
export function hintOf(line: string): string | undefined {
  const [, name = '', value = ''] = /^\s*(?:-\s+)?(?:(["']?[\w.-]+["']?)\s*:\s+)?([*&!%@`].*?)\s*$/.exec(line) ?? [];
  if (value === '') return undefined;
  return `a value that begins with '${value[0]}' must be quoted: ${name === '' ? '' : `${name}: `}"${value}"`;
}
