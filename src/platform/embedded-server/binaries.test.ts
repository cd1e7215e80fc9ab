import { lstatSync, mkdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { type Binaries, linkLibraries } from './binaries.js';

function installed(): Binaries & { lib: string } {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const root = join(path, 'native');
  const lib = join(root, 'lib');
  mkdirSync(lib, { recursive: true });
  return { root, lib, major: '18', version: '18.4.0' };
}
const links = [
  { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so' },
  { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' },
];

test('links of libraries that are missing are made, and those that are there stay', () => {
  const binaries = installed();
  writeFileSync(join(binaries.root, 'pg-symlinks.json'), JSON.stringify(links));
  writeFileSync(join(binaries.lib, 'libpq.so'), 'a file');
  linkLibraries(binaries);
  linkLibraries(binaries);
  expect(lstatSync(join(binaries.lib, 'libpq.so')).isFile()).toBe(true);
  expect(readlinkSync(join(binaries.lib, 'libpq.so.5'))).toBe('libpq.so.5.18');
});

test('a package without a list of links needs none', () => {
  expect(() => linkLibraries(installed())).not.toThrow();
});

test('a link that cannot be made is named, with what helps', () => {
  const binaries = installed();
  writeFileSync(
    join(binaries.root, 'pg-symlinks.json'),
    JSON.stringify([{ ...links[0], target: 'native/none/libpq.so' }]),
  );
  expect(() => linkLibraries(binaries)).toThrow(/none\/libpq\.so cannot be made \(ENOENT\): .*DATABASE_URL$/);
});
