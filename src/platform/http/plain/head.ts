/** What a caller has said before its body, of a call that has none. */
export interface Head {
  /** The path and the query. */
  url: string;
  rawHeaders: readonly string[];
  headers: Readonly<Record<string, string>>;
  isLast: boolean;
}

/** Longer ones are rare. */
const longestBytes = 4_096;
const firstLine = /^GET (\/[!-"$-~]*) HTTP\/1\.1$/;
/** Names without what some servers read in another way, values of printable ASCII; each line once, and none goes on in the next. */
const line = /^([A-Za-z][A-Za-z\d-]*): ?([!-~](?:[ -~]*[!-~])?)?$/;
/** They tell of a body, or ask for more than an answer. */
const notPlain = new Set([
  'content-length',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'http2-settings',
]);
const endOfLine = '\r\n';

/** Everything behind the first line. */
type Lines = Omit<Head, 'url'>;

/**
 * Reads calls that can be read in one way only: a GET without a body, whole and alone in what has come. It is no parser of HTTP: of
 * everything else it says undefined, and the same bytes go to the parser of Node.js.
 */
export class HeadReader {
  /** Callers repeat all but the first line from call to call. */
  private lastText = '';
  private lastLines: Lines | undefined;

  read(bytes: Buffer): Head | undefined {
    if (bytes.length > longestBytes) return undefined;
    const text = bytes.toString('latin1');
    const end = text.indexOf(endOfLine);
    const url = end < 0 ? undefined : firstLine.exec(text.slice(0, end))?.[1];
    const lines = url === undefined ? undefined : this.linesOf(text.slice(end));
    return lines && { url: url!, rawHeaders: lines.rawHeaders, headers: { ...lines.headers }, isLast: lines.isLast };
  }

  private linesOf(text: string): Lines | undefined {
    if (text !== this.lastText) {
      this.lastLines = readLines(text);
      this.lastText = text;
    }
    return this.lastLines;
  }
}

/** `text`: from the end of the first line on. */
function readLines(text: string): Lines | undefined {
  const lines = text.split(endOfLine);
  // The line before them, and the empty one with which they end.
  if (lines.shift() !== '' || lines.pop() !== '' || lines.pop() !== '') return undefined;
  const rawHeaders: string[] = [];
  const headers: Record<string, string> = {};
  for (const each of lines) {
    const [, name, value = ''] = line.exec(each) ?? [];
    const known = name?.toLowerCase();
    if (known === undefined || notPlain.has(known) || Object.hasOwn(headers, known)) return undefined;
    rawHeaders.push(name!, value);
    headers[known] = value;
  }
  const connection = headers['connection']?.toLowerCase() ?? 'keep-alive';
  if (connection !== 'keep-alive' && connection !== 'close') return undefined;
  return { rawHeaders, headers, isLast: connection === 'close' };
}
