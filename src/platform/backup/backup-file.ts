import { createHash } from 'node:crypto';
import { z } from 'zod';
import { StartError } from '../errors.js';

/**
 * The file is gzip of text: a line of JSON about the whole, for each table a line of JSON and its rows as COPY writes them up to a
 * line `\.`, a line of JSON with the sequences, and a last one with the SHA-256 of everything before it.
 */
const format = 1;

/** The first line, whatever later formats add to it. */
const AnyHead = z.object({ muster: z.literal('backup'), format: z.number().int(), version: z.string() });
const Head = AnyHead.extend({ at: z.iso.datetime(), migrations: z.array(z.string()) });
const Name = z.string().min(1);
const Table = z.strictObject({ table: Name, columns: z.array(Name).min(1) });
const Sequences = z.strictObject({ sequences: z.array(z.strictObject({ name: Name, last: z.number().int() })) });
const End = z.strictObject({ sha256: z.string() });

export type Head = Omit<z.infer<typeof Head>, 'muster' | 'format'>;
export type Table = z.infer<typeof Table>;
export type Sequence = z.infer<typeof Sequences>['sequences'][number];
export interface Contents {
  head: Head;
  tables: AsyncIterable<Table & { rows: AsyncIterable<Buffer> }>;
  /** Asked for after the last table. */
  sequences: () => Promise<Sequence[]>;
}

/** The file cannot be used, whatever the database is like. */
export class UnusableBackup extends StartError {}
const damaged = (what: string, cause?: unknown): UnusableBackup =>
  new UnusableBackup(`The backup is damaged: ${what}`, { cause });

const endOfRows = Buffer.from('\\.\n');

/** The content of the file before it is compressed. */
export async function* write({ head, tables, sequences }: Contents): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  const hashed = (bytes: Buffer): Buffer => (hash.update(bytes), bytes);
  const line = (value: object): Buffer => hashed(Buffer.from(`${JSON.stringify(value)}\n`));
  yield line({ muster: 'backup', format, ...head });
  for await (const { rows, ...table } of tables) {
    yield line(table);
    for await (const chunk of rows) yield hashed(chunk);
    yield hashed(endOfRows);
  }
  yield line({ sequences: await sequences() });
  yield Buffer.from(`${JSON.stringify({ sha256: hash.digest('hex') } satisfies z.infer<typeof End>)}\n`);
}

const longestLine = 1_000_000;
const newline = 0x0a;
/** The end of rows after a row. */
const rowsOver = Buffer.from('\n\\.\n');

/** Reads it again, a piece at a time: first `head`, then `next` until it answers the sequences, whereupon all was as written. */
export class BackupReader {
  private readonly chunks: AsyncIterator<Buffer>;
  private pending: Buffer = Buffer.alloc(0);
  private readonly hash = createHash('sha256');

  constructor(uncompressed: AsyncIterable<Buffer>) {
    this.chunks = uncompressed[Symbol.asyncIterator]();
  }

  async head(): Promise<Head> {
    const first = await this.line(() => new UnusableBackup('This is no backup of Muster'));
    const any = AnyHead.safeParse(first);
    if (!any.success) throw new UnusableBackup('This is no backup of Muster');
    if (any.data.format > format) throw new UnusableBackup(madeByNewer(any.data.version));
    return this.checked(Head, first);
  }

  /** The rows have to be read before the next is asked for. */
  async next(): Promise<(Table & { rows: AsyncIterable<Buffer> }) | { sequences: Sequence[] }> {
    const line = await this.line();
    if (!('sequences' in line)) return { ...this.checked(Table, line), rows: this.rows() };
    const { sequences } = this.checked(Sequences, line);
    const read = this.hash.copy().digest('hex');
    if (this.checked(End, await this.line()).sha256 !== read) throw damaged('its checksum is wrong');
    if (this.pending.length > 0 || (await this.more())) throw damaged('something follows its end');
    return { sequences };
  }

  private async *rows(): AsyncGenerator<Buffer> {
    while (this.pending.length < endOfRows.length) await this.need();
    if (this.pending.subarray(0, endOfRows.length).equals(endOfRows)) return void this.take(endOfRows.length);
    for (;;) {
      const end = this.pending.indexOf(rowsOver);
      if (end >= 0) {
        yield this.take(end + 1);
        this.take(endOfRows.length);
        return;
      }
      // What may be the beginning of the end stays for the next look.
      if (this.pending.length >= rowsOver.length) yield this.take(this.pending.length - rowsOver.length + 1);
      await this.need();
    }
  }

  private async line(notOne = () => damaged('a line of it cannot be read')): Promise<object> {
    let end: number;
    while ((end = this.pending.indexOf(newline)) < 0) {
      if (this.pending.length > longestLine) throw notOne();
      await this.need();
    }
    const value = jsonOf(this.take(end + 1).toString());
    if (typeof value !== 'object' || value === null) throw notOne();
    return value;
  }

  private checked<T>(schema: z.ZodType<T>, value: object): T {
    const parsed = schema.safeParse(value);
    if (!parsed.success) throw damaged('a line of it cannot be read', parsed.error);
    return parsed.data;
  }

  private take(bytes: number): Buffer {
    const taken = this.pending.subarray(0, bytes);
    this.pending = this.pending.subarray(bytes);
    this.hash.update(taken);
    return taken;
  }

  private async need(): Promise<void> {
    if (!(await this.more())) throw damaged('it ends too early');
  }

  private async more(): Promise<boolean> {
    const { done, value } = await this.chunks.next().catch((cause: unknown) => {
      throw unreadable(cause);
    });
    if (done) return false;
    this.pending = this.pending.length === 0 ? value : Buffer.concat([this.pending, value]);
    return true;
  }
}

export const madeByNewer = (version: string): string =>
  `The backup was made by a newer Muster, ${version}: restore it with that version or a later one`;

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The error for bytes that zlib did not write. */
function unreadable(cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'Z_BUF_ERROR') return damaged('it ends too early', cause);
  if (code === 'Z_DATA_ERROR' && /header/.test(String(cause)))
    return new UnusableBackup('This is no backup of Muster', { cause });
  return code?.startsWith('Z_') ? damaged('it cannot be uncompressed', cause) : cause;
}
