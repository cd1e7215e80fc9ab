import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { TestSpecification, Vitest } from 'vitest/node';
import { longest, LongestFirst } from '../support/longest-first.js';
import { both, byNameOnly, daily, deep, everyTime, inTurns, partOf, stepsOf, testFiles } from '../support/steps.js';

const files = testFiles(fileURLToPath(new URL('../..', import.meta.url)));

test.each([...deep, ...daily, ...both, ...byNameOnly, ...inTurns, ...everyTime, ...longest])(
  '%s, which is named for a step or for its length, is there',
  (place) => {
    expect(files.filter((file) => file.startsWith(place))).not.toEqual([]);
  },
);

test('every file is run by one step, some laws by both, and by none what runs by its name only', () => {
  for (const file of files) {
    const isByName = byNameOnly.some((place) => file.startsWith(place));
    expect(stepsOf(file), file).toHaveLength(isByName ? 0 : both.includes(file) ? 2 : 1);
  }
});

test.each([1, 2, 3])(
  'of %i parts of the deep step each file is in one or in all, and no folder is missing in any',
  (parts) => {
    const ofStep = files.filter((file) => stepsOf(file).includes('deep'));
    // As `.ci/run` has them: seven hexadecimal digits.
    const found = Array.from({ length: parts }, (_, seed) => partOf(ofStep, longest, parts, 0xf_ab_c1_23 + seed));
    for (const file of ofStep) {
      const isInTurns = inTurns.some((folder) => file.startsWith(folder)) && !everyTime.includes(file);
      expect(
        found.filter((part) => part.includes(file)),
        file,
      ).toHaveLength(isInTurns ? 1 : parts);
    }
    const folderOf = (file: string) => file.split('/').slice(0, 2).join('/');
    for (const part of found) expect(new Set(part.map(folderOf))).toEqual(new Set(ofStep.map(folderOf)));
    // The files that take longest are spread, too.
    const long = found.map((part) => part.filter((file) => longest.includes(file)).length);
    expect(Math.max(...long) - Math.min(...long)).toBeLessThan(longest.length / 4);
  },
);

test('in a clone that remembers no times, the files that take longest begin', async () => {
  const nothing = () => undefined;
  const cache = { getFileTestResults: nothing, getFileStats: nothing };
  const project = { name: '', config: { isolate: false, sequence: { groupOrder: 0 } } };
  const specifications = files.map((file) => ({ moduleId: `/clone/${file}`, project }) as unknown as TestSpecification);
  const sequencer = new LongestFirst({ config: { root: '/clone' }, cache } as unknown as Vitest);
  const sorted = (await sequencer.sort(specifications)).map(({ moduleId }) => moduleId.slice('/clone/'.length));
  expect(sorted.slice(0, longest.length)).toEqual(longest);
  expect(sorted.toSorted()).toEqual(files.toSorted());
});
