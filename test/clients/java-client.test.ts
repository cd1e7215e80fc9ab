import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { withoutObjectStore } from '../support/object-store.js';
import { tempFolder } from '../support/temp-folder.js';
import { compileJava } from './java-classes.js';
import { outcomesOf, withMuster, type Outcome } from './published-client.js';

/*
 * The published Java clients as they are, from the registry of their language: every public method, against what it is about. The
 * drivers (java/, java-older/) find the methods by reflection, so that one which it does not know is told.
 */
const page = readFileSync(new URL('../../docs/migration.md', import.meta.url), 'utf8');

/** Directory of the driver for each version: the oldest has records of its own. */
const drivers = { '1.5.0': 'java', '1.4.0': 'java', '0.15.0': 'java-older' };
type Version = keyof typeof drivers;
const versions = Object.keys(drivers) as Version[];

/** undefined: it cannot be had here, and a line says why. */
async function drive(version: Version): Promise<Outcome[] | undefined> {
  const { path: work, remove } = tempFolder();
  try {
    const compiled = withoutObjectStore
      ? { why: withoutObjectStore }
      : await compileJava(version, drivers[version], work);
    if ('why' in compiled) {
      console.log(`Tests of the Java client ${version} are left out: ${compiled.why}`);
      return undefined;
    }
    const driver = ['-cp', compiled.classPath, 'Driver'];
    return await withMuster('/singularity', ({ address, loggedTask }) =>
      outcomesOf('java', [...driver, address, 'singularity/api', loggedTask, join(work, 'sign')], opened),
    );
  } finally {
    remove();
  }
}

/** The injector of the client is older than the walls around the classes of newer Java. */
const opened = { JDK_JAVA_OPTIONS: '--add-opens=java.base/java.lang=ALL-UNNAMED' };

/** Methods that the client itself cannot make work. */
const faultsOf: Record<Version, string[]> = {
  '1.5.0': ['clearInactiveAgent', 'clearInactiveSlave', 'getTaskHistoryWithMetadata'],
  '1.4.0': ['clearInactiveAgent', 'clearInactiveSlave', 'getTaskHistoryWithMetadata'],
  '0.15.0': ['getTaskHistoryWithMetadata'],
};
const nameOf = ({ method }: Outcome): string => method.split('(')[0]!;

const driven = new Map<string, Outcome[] | undefined>();
for (const version of versions) driven.set(version, await drive(version));

describe.each(versions)('the Java client %s', (version) => {
  const outcomes = driven.get(version);
  const faults = faultsOf[version];

  test.each(outcomes ?? [])('$method', (told) => {
    expect(told).toEqual({ ...told, outcome: faults.includes(nameOf(told)) ? 'fault' : 'works' });
  });

  test.skipIf(!outcomes)('docs/migration.md says how many of its methods work', () => {
    const names = new Set(outcomes!.map(nameOf));
    const works = [...names].filter((name) => !faults.includes(name));
    const row = page.split('\n').find((line) => line.startsWith('| Java client ') && line.includes(`| ${version} `));
    expect(row).toContain(` ${works.length} of ${names.size} methods `);
    for (const method of faults) expect(row).toContain(`\`${method}\``);
  });
});
