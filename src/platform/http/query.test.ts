import { plainToInstance } from 'class-transformer';
import { validate } from 'class-validator';
import { expect, test } from 'vitest';
import { QueryTimestamp, readTime } from './query.js';

const noon = String(Date.UTC(2026, 0, 5, 12));
test.each([
  ['2026-01-05', String(Date.UTC(2026, 0, 5))],
  ['2026-01-05T12:00', noon],
  ['2026-01-05T12:00:00Z', noon],
  ['2026-01-05T12:00:00.000Z', noon],
  ['2026-01-05T13:00:00+01:00', noon],
  ['2026-01-05T13:00:00 01:00', noon],
  ['2026-01-05T07:30:00-04:30', noon],
  ['1767614400000', '1767614400000'],
])('%s is %s', (text, millis) => expect(readTime(text)).toBe(millis));

class Dates {
  @QueryTimestamp() after?: number;
}
test('a parameter is read so, and one that is no time is told what one looks like', async () => {
  const read = async (after: string) => {
    const dates = plainToInstance(Dates, { after });
    const [error] = await validate(dates);
    return error ? Object.values(error.constraints!) : dates.after;
  };
  expect(await read('2026-01-05T12:00:00Z')).toBe(Number(noon));
  expect(await read(noon)).toBe(Number(noon));
  expect(await read('0')).toBeUndefined();
  expect(await read('2026-13-05')).toContain(
    'after must be a time in epoch milliseconds or as ISO 8601, such as 2026-01-05T12:00:00Z',
  );
});

test.each(['2026-13-05', '2026-01-05T25:00', 'yesterday', '2026-01-05T12', '05.01.2026', ''])(
  '%j stays as it is, and is refused as no number',
  (text) => expect(readTime(text)).toBe(text),
);
