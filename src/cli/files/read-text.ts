import { readFileSync } from 'node:fs';
import { type Document, isScalar, LineCounter, parseAllDocuments } from 'yaml';
import { CliError } from '../exit-codes.js';
import { fileProblem } from '../../platform/file-problem.js';

const maxFileBytes = 16 * 1_024 * 1_024;

/** Name of a file for messages: - is stdin. */
export const shownName = (file: string): string => (file === '-' ? 'stdin' : file);

/** Text of a file, or of stdin (-). */
export function readText(file: string): string {
  const name = shownName(file);
  try {
    const bytes = readFileSync(file === '-' ? 0 : file);
    if (bytes.length <= maxFileBytes) return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    if (cause instanceof TypeError) throw new CliError('usage', `${name} must be text in UTF-8`, { cause });
    throw new CliError('usage', `Cannot read ${name}: ${fileProblem(cause)}`, { cause });
  }
  throw new CliError('usage', `${name} is larger than ${maxFileBytes} bytes`);
}

export interface ReadDocument {
  document: Document.Parsed;
  lines: LineCounter;
}

/** The documents of a text in YAML or JSON, in their order. The first one that cannot be read is refused, with the line. */
export function* documentsIn(
  text: string,
  refuse: (line: number, message: string) => never,
): Generator<ReadDocument, void, undefined> {
  const lines = new LineCounter();
  const options = { lineCounter: lines, uniqueKeys: true, prettyErrors: false, merge: true };
  const documents = parseAllDocuments(text, options);
  for (const document of Array.isArray(documents) ? documents : []) {
    // A warning is about a tag that nobody knows, and what it stands for would be lost.
    const [error] = [...document.errors, ...document.warnings];
    if (error) refuse(lines.linePos(error.pos[0]).line, error.message);
    // A separator at the end, or comments alone.
    if (document.contents === null || (isScalar(document.contents) && document.contents.source === '')) continue;
    yield { document, lines };
  }
}
