import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CsvReader, type Cell } from './index.js';

const read = (text: string): Cell[][] => {
  const reader = new CsvReader();
  return [...reader.push(text), ...reader.end()];
};

test.each<{ name: string; text: string; rows: Cell[][] }>([
  { name: 'a line is a row', text: 'a,b\n1,2\n', rows: [['a', 'b'], ['1', '2']] }, // prettier-ignore
  { name: 'the last line end may be missing', text: 'a,b', rows: [['a', 'b']] },
  { name: 'lines may end as on Windows', text: 'a\r\nb\r\n', rows: [['a'], ['b']] },
  { name: 'empty lines say nothing', text: '\na\n\n', rows: [['a']] },
  { name: 'quotes keep commas and line ends', text: '"a,\r\nb",c\n', rows: [['a,\r\nb', 'c']] },
  { name: 'a quote within quotes is doubled', text: '"say ""hi""",""""\n', rows: [['say "hi"', '"']] },
  { name: 'an empty cell holds no value', text: 'a,,c,\n', rows: [['a', null, 'c', null]] },
  { name: 'nor does \\N', text: '\\N,"\\N"\n', rows: [[null, '\\N']] },
  { name: 'an empty text is in quotes', text: '"",b\n""', rows: [['', 'b'], ['']] }, // prettier-ignore
  { name: 'a quote in the middle is a character', text: 'a"b\n', rows: [['a"b']] },
])('$name', ({ text, rows }) => expect(read(text)).toEqual(rows));

test('a text that ends within quotes is refused', () => {
  expect(() => read('"a')).toThrow('The text ends within a quoted cell');
});

const anyCell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', '\\N', 'é') });
const written = (rows: string[][]): string =>
  rows.map((row) => `${row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`).join('');

test('what was written is read, in whatever pieces it comes', () =>
  fc.assert(
    fc.property(fc.array(fc.array(anyCell, { minLength: 1 })), fc.nat(), (rows, cut) => {
      const text = written(rows);
      const at = text.length === 0 ? 0 : cut % text.length;
      const reader = new CsvReader();
      expect([...reader.push(text.slice(0, at)), ...reader.push(text.slice(at)), ...reader.end()]).toEqual(rows);
    }),
  ));
