import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { type Cell, type DumpFileRow, readDump } from '../src/import-history/read-dump.js';

const { path: folder, remove } = tempFolder();
afterAll(remove);
const file = join(folder, 'dump.csv');

async function rowsOf(text: string): Promise<DumpFileRow[]> {
  writeFileSync(file, text);
  const rows: DumpFileRow[] = [];
  for await (const row of readDump(file)) rows.push(row);
  return rows;
}

test.each<{ name: string; text: string; rows: Cell[][] }>([
  { name: 'a line is a row', text: '1,2\n3,4\n', rows: [['1', '2'], ['3', '4']] }, // prettier-ignore
  { name: 'the last line end may be missing', text: '1,2', rows: [['1', '2']] },
  { name: 'lines may end as on Windows', text: '1,2\r\n3,4\r\n', rows: [['1', '2'], ['3', '4']] }, // prettier-ignore
  { name: 'an empty line says nothing', text: '\n1,2\n\n', rows: [['1', '2']] },
  { name: 'quotes keep commas and line ends', text: '"1,\r\n2",3\n', rows: [['1,\r\n2', '3']] },
  { name: 'a quote within quotes is doubled', text: '"say ""hi""",""""\n', rows: [['say "hi"', '"']] },
  { name: 'an empty cell holds no value', text: '1,\n,\n', rows: [['1', null], [null, null]] }, // prettier-ignore
  { name: 'nor does \\N', text: '\\N,"\\N"\n', rows: [[null, '\\N']] },
  { name: 'an empty text is in quotes', text: '"",""', rows: [['', '']] },
  { name: 'a quote in the middle is a character', text: '1"2,3\n', rows: [['1"2', '3']] },
])('$name', async ({ text, rows }) => {
  const found = await rowsOf(`a,b\n${text}`);
  expect(found.map(({ cells }) => [cells['a'], cells['b']])).toEqual(rows);
});

test('a mark of Windows is no part of the first name, and names are told alike', async () => {
  expect(await rowsOf('\uFEFF"Request_Id", runId\nweb,1')).toEqual([
    { kind: 'row', name: 'dump.csv row 2', cells: { requestid: 'web', runid: '1' } },
  ]);
});

test('a row of another length is told with its cells', async () => {
  expect(await rowsOf('a,b\n1\n1,2,3\n')).toEqual([
    { kind: 'unreadable', name: 'dump.csv row 2', cells: { a: '1' }, reason: 'It has 1 cells, the header has 2' },
    expect.objectContaining({ name: 'dump.csv row 3', cells: { a: '1', b: '2', 'cell 3': '3' } }),
  ]);
});

test('a text that ends within quotes is refused, and so is a file that is not there', async () => {
  await expect(rowsOf('a\n"1')).rejects.toThrow('Quote Not Closed');
  await expect(readDump(join(folder, 'none.csv')).next()).rejects.toThrow('ENOENT');
});

const anyCell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', '\\N', 'é'), maxLength: 200 });

test('what was written is read, also where it is longer than what is read at once', () =>
  fc.assert(
    fc.asyncProperty(fc.array(anyCell), fc.nat(200_000), async (cells, length) => {
      const all = [...cells, 'é'.repeat(length)];
      const found = await rowsOf(`a\n${all.map((cell) => `"${cell.replaceAll('"', '""')}"\n`).join('')}`);
      expect(found.map((row) => row.cells['a'])).toEqual(all);
    }),
    { numRuns: 30 },
  ));
