import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { both, daily, deep, stepsOf, testFiles } from '../support/steps.js';

const files = testFiles(fileURLToPath(new URL('../..', import.meta.url)));

test.each([...deep, ...daily, ...both])('%s, which is named for a step, is there', (place) => {
  expect(files.filter((file) => file.startsWith(place))).not.toEqual([]);
});

test('every file is run by one step, the laws by both', () => {
  for (const file of files) expect(stepsOf(file), file).toHaveLength(file.startsWith('test/laws/') ? 2 : 1);
});
