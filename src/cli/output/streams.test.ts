import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test('nothing of the command line is written to a stream but by streams.ts', () => {
  const folder = join(import.meta.dirname, '..');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!\.test)\.ts$/.test(file),
  );
  const writes = files.filter((file) => /\.write\(|console\./.test(readFileSync(join(folder, file), 'utf8')));
  expect(files.length).toBeGreaterThan(50);
  expect(writes).toEqual(['output/streams.ts']);
});
