import { gunzipSync, gzipSync, createGunzip } from 'node:zlib';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BackupReader, UnusableBackup, write } from './backup-file.js';

const head = { version: '0.1.0', at: '2026-01-02T03:04:05.678Z', migrations: ['First1700000000000'] };
const sequences = [{ name: 'one_id_seq', last: 7 }];

async function* pieces(text: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < text.length; at += size) yield text.subarray(at, at + size);
}

async function written(tables: Record<string, Buffer>): Promise<Buffer> {
  async function* all() {
    for (const [table, rows] of Object.entries(tables)) yield { table, columns: ['a', 'b'], rows: pieces(rows, 5) };
  }
  return Buffer.concat(
    await Readable.from(write({ head, tables: all(), sequences: () => Promise.resolve(sequences) })).toArray(),
  );
}

async function read(bytes: AsyncIterable<Buffer>) {
  const reader = new BackupReader(bytes);
  const tables: Record<string, Buffer> = {};
  const found = await reader.head();
  for (;;) {
    const part = await reader.next();
    if ('sequences' in part) return { head: found, tables, sequences: part.sequences };
    tables[part.table] = Buffer.concat(await Readable.from(part.rows).toArray());
  }
}

/** Rows as COPY writes them: a backslash in a value is doubled, so that no line of them is `\.`. */
const anyRows = fc
  .array(fc.string({ unit: fc.constantFrom('a', '.', '\t', '\\\\', '\\n', 'é') }))
  .map((lines) => Buffer.from(lines.map((line) => `${line}\n`).join('')));

test('what is written is read again, in whatever pieces it comes', () =>
  fc.assert(
    fc.asyncProperty(anyRows, anyRows, fc.integer({ min: 1, max: 40 }), async (first, second, size) => {
      const text = await written({ first, second, none: Buffer.alloc(0) });
      const { tables, ...rest } = await read(pieces(text, size));
      expect(rest).toMatchObject({ head, sequences });
      expect(Object.entries(tables).map(([name, rows]) => [name, rows.toString()])).toEqual([
        ['first', first.toString()],
        ['second', second.toString()],
        ['none', ''],
      ]);
    }),
  ));

const rows = Buffer.from('1\tone\n2\ttwo \\\\. and more\n');

test('wherever it is cut off, or one byte is another, it is refused', async () => {
  const text = await written({ first: rows });
  for (let at = 0; at < text.length; at++) {
    const changed = Buffer.from(text);
    changed[at]! ^= 1;
    for (const broken of [text.subarray(0, at), changed])
      await expect(read(pieces(broken, 16)), `byte ${at}`).rejects.toBeInstanceOf(UnusableBackup);
  }
});

test('wherever the file is cut off, or one byte is another, it is refused', async () => {
  const file = gzipSync(await written({ first: rows }));
  // What the header of gzip says of time, system and name means nothing.
  for (let at = 10; at < file.length; at++) {
    const changed = Buffer.from(file);
    changed[at]! ^= 1;
    for (const broken of [file.subarray(0, at), changed]) {
      const uncompressed = Readable.from(pieces(broken, 16)).pipe(createGunzip());
      await expect(read(uncompressed), `byte ${at}`).rejects.toBeInstanceOf(UnusableBackup);
    }
  }
});

test.each([
  ['text', 'Dear reader\n', /no backup of Muster/],
  ['a document of others', '{"kind": "List"}\n', /no backup of Muster/],
  ['nothing', '', /ends too early/],
  ['a later format', `${JSON.stringify({ muster: 'backup', format: 2, version: '7.1.0' })}\n`, /newer Muster, 7\.1\.0/],
])('%s is refused with a line that says so', async (_what, text, says) => {
  await expect(read(pieces(gunzipSync(gzipSync(text)), 16))).rejects.toThrow(says);
});

test('what follows the end is refused', async () => {
  const text = Buffer.concat([await written({ first: rows }), Buffer.from('more')]);
  await expect(read(pieces(text, 1000))).rejects.toThrow(/something follows its end/);
});
