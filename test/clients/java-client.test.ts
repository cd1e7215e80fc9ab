import { readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { withoutObjectStore } from '../support/object-store.js';
import { tempFolder } from '../support/temp-folder.js';
import { impossible, outcomesOf, withMuster, type Outcome } from './published-client.js';

/*
 * The published Java clients as they are, from the registry of their language: every public method, against what it is about. The
 * drivers (java/, java-older/) find the methods by reflection, so that one which it does not know is told.
 */
const folderOf = (name: string): string => fileURLToPath(new URL(`${name}/`, import.meta.url));
const pom = join(folderOf('java'), 'pom.xml');
const page = readFileSync(new URL('../../docs/migration.md', import.meta.url), 'utf8');

/** Which folder drives which version: the oldest has records of its own. */
const drivers = { '1.5.0': 'java', '1.4.0': 'java', '0.15.0': 'java-older' };
type Version = keyof typeof drivers;
const versions = Object.keys(drivers) as Version[];

/** undefined: it cannot be had here, and a line says why. */
async function drive(version: Version): Promise<Outcome[] | undefined> {
  const { path: work, remove } = tempFolder();
  try {
    const jars = join(work, 'jars');
    const resolve = ['-q', '-B', '-f', pom, `-Dclient.version=${version}`];
    const goal = [`-Dmdep.outputFile=${jars}`, 'dependency:build-classpath'];
    // What was fetched before is there without the network.
    const why =
      withoutObjectStore ??
      (await impossible('javac', ['-version'])) ??
      ((await impossible('mvn', [...resolve, '-o', ...goal])) && (await impossible('mvn', [...resolve, ...goal])));
    if (why !== undefined) {
      console.log(`Tests of the Java client ${version} are left out: ${why}`);
      return undefined;
    }
    const classPath = [work, readFileSync(jars, 'utf8').trim()].join(delimiter);
    const folder = folderOf(drivers[version]);
    const sources = readdirSync(folder).filter((name) => name.endsWith('.java'));
    const files = sources.map((name) => join(folder, name));
    const problem = await impossible('javac', ['-nowarn', '-d', work, '-cp', classPath, ...files]);
    if (problem !== undefined) throw new Error(problem);
    const driver = ['-cp', classPath, 'Driver'];
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
