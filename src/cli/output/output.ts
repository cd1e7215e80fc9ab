import { styleText } from 'node:util';
import { plain, terminalJson, terminalLog } from '../../core/terminal-text.js';
import { isTerminal, writeBytes, writeError, writeOut } from './streams.js';

type Style = 'green' | 'red' | 'yellow' | 'cyan' | 'magenta' | 'blue' | 'dim' | 'bold';
type Cell = string | number | undefined | { text: string; style?: Style };

/** A reader that has seen enough, such as head, is no failure. */
export function letReadersLeave(): void {
  process.stdout.on('error', (cause: NodeJS.ErrnoException) => {
    if (cause.code === 'EPIPE') process.exit(0);
  });
}

/** Prints answers: tables and colours on a terminal, lines with tabs in a pipe, JSON where it is asked for. */
export class Output {
  readonly isTerminal = isTerminal('stdout');
  /** Heeds NO_COLOR, FORCE_COLOR and TERM. */
  private readonly hasColours = this.isTerminal && process.stdout.hasColors();

  /** A piece of a file may end within a letter. */
  private readonly decoder = new TextDecoder();

  constructor(readonly isJson: boolean) {
    letReadersLeave();
  }

  paint(style: Style | undefined, text: string): string {
    return style && this.hasColours ? styleText(style, text, { validateStream: false } as never) : text;
  }

  /** The answer as one document, or what to say of it. */
  async answer(value: unknown, say: () => string | Promise<unknown> | void): Promise<void> {
    if (this.isJson) return this.json(value ?? {}, 2);
    const said = await say();
    if (typeof said === 'string') this.line(said);
  }

  /** One of a stream: a line of JSON, or what to say of it. */
  each(value: unknown, say: () => string): void {
    if (this.isJson) this.json(value);
    else this.line(say());
  }

  /** Text of ours; what of it comes from others was made plain. */
  line(text: string): void {
    writeOut(`${text}\n`);
  }

  /** Prints a line with text of others in it. */
  text(text: string): void {
    this.line(plain(text).trimEnd());
  }

  /** Prints output of a task: whole on a terminal only where all bytes are asked for. */
  log(
    text: string | Uint8Array,
    { raw = false, to = 'stdout' }: { raw?: boolean; to?: 'stdout' | 'stderr' } = {},
  ): void {
    if (raw || !isTerminal(to)) return writeBytes(to, text);
    const shown = terminalLog(typeof text === 'string' ? text : this.decoder.decode(text, { stream: true }));
    (to === 'stdout' ? writeOut : writeError)(shown);
  }

  /** Prints a document; on a terminal, what of it would control that is escaped. */
  json(value: unknown, indent?: number): void {
    const text = `${JSON.stringify(value, undefined, indent)}\n`;
    writeOut(this.isTerminal ? terminalJson(text) : text);
  }

  /** Prints a note beside the answer: what is waited for, what to do next. */
  note(text: string): void {
    writeError(`${plain(text)}\n`);
  }

  async table(head: readonly string[], rows: readonly (readonly Cell[])[]): Promise<void> {
    const cells = rows.map((row) => row.map((cell) => this.cell(cell)));
    if (!this.isTerminal) {
      for (const row of [head, ...cells]) this.line(row.join('\t'));
      return;
    }
    const { default: Table } = await import('cli-table3');
    // A column without any value, such as WHO where callers are not known, would take the width of the others.
    const shown = head.map((_name, column) => cells.length === 0 || cells.some((row) => (row[column] ?? '') !== ''));
    const narrow = <T>(row: readonly T[]): T[] => row.filter((_cell, column) => shown[column]);
    const none = Object.fromEntries(borders.map((name) => [name, '']));
    const table = new Table({
      head: narrow(head).map((name) => this.paint('dim', name)),
      chars: { ...none, middle: '  ' },
      style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
    });
    table.push(...cells.map(narrow));
    for (const line of table.toString().split('\n')) this.line(line.trimEnd());
  }

  private cell(cell: Cell): string {
    if (typeof cell === 'object') return this.paint(cell.style, plain(cell.text));
    return cell === undefined ? '' : plain(String(cell));
  }
}

const borders =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid'.split(
    ' ',
  );

const good = new Set(['RUNNING', 'FINISHED', 'ACTIVE', 'SUCCEEDED', 'CREATED']);
const bad = new Set(['FAILED', 'LOST', 'LOST_WHILE_DOWN', 'ERROR', 'DEAD', 'OVERDUE', 'FAILED_INTERNAL_STATE']);
/** A state in its colour. */
export const stateCell = (state: string): { text: string; style?: Style } => ({
  text: state,
  style: good.has(state) ? 'green' : bad.has(state) ? 'red' : 'yellow',
});
