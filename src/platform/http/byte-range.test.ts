import { expect, test } from 'vitest';
import { readRange } from './send-file.js';

test.each([
  { header: undefined, size: 10, wanted: 'ALL' },
  { header: 'bytes=0-3', size: 10, wanted: { first: 0, last: 3 } },
  { header: 'bytes=4-', size: 10, wanted: { first: 4, last: 9 } },
  { header: 'bytes=4-99', size: 10, wanted: { first: 4, last: 9 } },
  { header: 'bytes=-3', size: 10, wanted: { first: 7, last: 9 } },
  { header: 'bytes=-30', size: 10, wanted: { first: 0, last: 9 } },
  { header: 'bytes=10-', size: 10, wanted: 'NONE' },
  { header: 'bytes=-0', size: 10, wanted: 'NONE' },
  { header: 'bytes=0-', size: 0, wanted: 'NONE' },
  { header: 'bytes=5-2', size: 10, wanted: 'ALL' },
  { header: 'bytes=-', size: 10, wanted: 'ALL' },
  { header: 'bytes=0-1,4-5', size: 10, wanted: 'ALL' },
  { header: 'lines=1-2', size: 10, wanted: 'ALL' },
  { header: 'bytes=a-b', size: 10, wanted: 'ALL' },
])('$header of $size bytes', ({ header, size, wanted }) => expect(readRange(header, size)).toEqual(wanted));
