import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { both, byNameOnly, daily, deep, stepsOf, testFiles } from '../support/steps.js';

const files = testFiles(fileURLToPath(new URL('../..', import.meta.url)));

test.each([...deep, ...daily, ...both, ...byNameOnly])('%s, which is named for a step, is there', (place) => {
  expect(files.filter((file) => file.startsWith(place))).not.toEqual([]);
});

test('every file is run by one step, the laws by both, and by none what runs by its name only', () => {
  for (const file of files) {
    const isByName = byNameOnly.some((place) => file.startsWith(place));
    expect(stepsOf(file), file).toHaveLength(isByName ? 0 : file.startsWith('test/laws/') ? 2 : 1);
  }
});
