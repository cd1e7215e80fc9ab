import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DeployRequest, Request } from 'muster-client';
import { type Document, isMap, isNode, type LineCounter, visit } from 'yaml';
import { CliError } from '../exit-codes.js';
import { type Problem, problemsOf, schemaOf } from './check.js';
import { otherFormat } from './other-formats.js';
import { documentsIn, readText, shownName } from './read-text.js';
import { hintOf, keepTextsAsWritten } from './written-texts.js';

/** Content of files: any number of both, one document after the other. */
export interface FileDocuments {
  requests: LocatedDocument<Request>[];
  /** Without `deploy.id` one is made from what the deploy says. */
  deploys: LocatedDocument<DeployRequest>[];
}
export interface LocatedDocument<T> {
  value: T;
  /** File and line, such as web.yaml:12, for messages. */
  place: string;
}

/** Reads YAML or JSON, checks it by the published schema, and tells the first thing that is wrong with its line. */
export async function readDocuments(files: readonly string[]): Promise<FileDocuments> {
  const wanted: FileDocuments = { requests: [], deploys: [] };
  for (const file of files.flatMap(filesOf)) {
    const name = shownName(file);
    const text = readText(file);
    const refuse = (line: number, message: string): never => {
      const other = otherFormat(text);
      if (other !== undefined) throw new CliError('usage', `${name}:1: ${other}`);
      const hint = hintOf(text.split('\n')[line - 1] ?? '');
      throw new CliError('usage', `${name}:${line}: ${message}${hint === undefined ? '' : ` (${hint})`}`);
    };
    for (const { document, lines } of documentsIn(text, refuse)) {
      refuseAnchors(document, name, lines);
      await sort(document, { name, text, lines }, wanted);
    }
  }
  if (wanted.requests.length + wanted.deploys.length === 0) {
    throw new CliError('usage', `${files.join(', ')}: there is no request and no deploy in it`);
  }
  return wanted;
}

/**
 * Files of a directory that may hold documents, in the order of their names; those further down are given by
 * themselves.
 */
function filesOf(given: string): string[] {
  if (given === '-' || !statSync(given, { throwIfNoEntry: false })?.isDirectory()) return [given];
  const found = readdirSync(given, { withFileTypes: true }).filter(
    (entry) => !entry.isDirectory() && /\.(ya?ml|json)$/.test(entry.name),
  );
  if (found.length === 0) throw new CliError('usage', `${given}: there is no .yaml, .yml or .json file in it`);
  return found.map((entry) => join(given, entry.name)).toSorted();
}

/** A few lines of them can stand for gigabytes. `toJS` has a limit of its own; a clear word is better. */
function refuseAnchors(document: Document.Parsed, name: string, lines: LineCounter): void {
  let count = 0;
  visit(document, {
    Alias: (_key, alias) => {
      if (++count > 100) {
        throw new CliError('usage', `${name}:${lines.linePos(alias.range![0]).line}: more than 100 aliases`);
      }
    },
  });
}

/** A file that is read. */
interface Source {
  name: string;
  text: string;
  lines: LineCounter;
}

async function sort(document: Document.Parsed, { name, text, lines }: Source, wanted: FileDocuments): Promise<void> {
  const { contents } = document;
  const isDeploy = isMap(contents) && (contents.has('deploy') || !(contents.has('requestType') || contents.has('id')));
  keepTextsAsWritten(schemaOf(isDeploy ? 'deploy' : 'request'), document, (node, message) => {
    throw new CliError('usage', `${name}:${lines.linePos(node.range?.[0] ?? 0).line}: ${message}`);
  });
  const value = withoutNulls(document.toJS({ maxAliasCount: 100 })) as Record<string, unknown>;
  const problems = await problemsOf(isDeploy ? 'deploy' : 'request', value);
  if (problems.length > 0) {
    const other = otherFormat(text, value);
    if (other !== undefined) throw new CliError('usage', `${name}:${lineOf(document, [], lines)}: ${other}`);
    if (isDeploy && !('deploy' in value) && ('requestId' in value || 'command' in value)) {
      const message = 'the fields of a deploy stand below deploy: (deploy: { requestId: ..., command: ... })';
      throw new CliError('usage', `${name}:${lineOf(document, [], lines)}: ${message}`);
    }
    throw new CliError('usage', problems.map((each) => tell(each, document, name, lines)).join('; '));
  }
  const place = `${name}:${lineOf(document, [], lines)}`;
  if (isDeploy) wanted.deploys.push({ value: value as unknown as DeployRequest, place });
  else wanted.requests.push({ value: value as unknown as Request, place });
}

/** As the server takes them: a member that is null counts as not given. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}

function tell({ path, message }: Problem, document: Document.Parsed, name: string, lines: LineCounter): string {
  return `${name}:${lineOf(document, path, lines)}: ${message}`;
}

/** Line of the member, or of the one that it should be in. */
function lineOf(document: Document.Parsed, path: readonly (string | number)[], lines: LineCounter): number {
  let offset: number | undefined;
  for (let length = path.length; length >= 0; length--) {
    offset = keyOffset(document, path.slice(0, length));
    if (offset !== undefined) break;
  }
  return lines.linePos(offset ?? 0).line;
}

function keyOffset(document: Document.Parsed, path: readonly (string | number)[]): number | undefined {
  if (path.length === 0) return document.contents?.range?.[0];
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const last = path.at(-1)!;
  if (typeof parent !== 'object' || parent === null || !('items' in parent)) return undefined;
  for (const item of (parent as { items: unknown[] }).items) {
    const { key } = item as { key?: { value?: unknown; range?: number[] } };
    if (key && String(key.value) === String(last)) return key.range?.[0];
  }
  const element = typeof last === 'number' ? (parent as { items: unknown[] }).items[last] : undefined;
  return isNode(element) ? element.range?.[0] : undefined;
}
