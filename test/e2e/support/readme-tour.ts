import { readFileSync } from 'node:fs';

const page = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');

/** The commands of the tour in README.md, one a line. */
export const readmeTour: readonly string[] = [
  ...page
    .split('\n## Five minutes\n')[1]!
    .split('\n## ')[0]!
    .matchAll(/```sh\n([\s\S]*?)```/g),
]
  .flatMap(([, block]) => block!.trim().split('\n'))
  .filter((line) => line !== '');
