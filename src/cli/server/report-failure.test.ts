import { expect, test } from 'vitest';
import { describeFailure } from './report-failure.js';

test.each([
  ['EACCES', 'this user has no permission'],
  ['EROFS', 'the file system is read-only'],
  ['ENOSPC', 'the disk is full'],
])('a data directory that cannot be written (%s) is told with the reason and the way to another one', (code, reason) =>
  expect(describeFailure(Object.assign(new Error('mkdir'), { code, path: '/srv/muster/.muster' }))).toBe(
    `Cannot write /srv/muster/.muster: ${reason} (--data-dir or MUSTER_DATA_DIR chooses the data directory)`,
  ),
);
