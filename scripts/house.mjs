import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { circlesOf } from './house/circles.mjs';
import { clockReads, readers } from './house/clocks.mjs';
import { libraryReaches, reaches, unexplained } from './house/libraries.mjs';
import { manyRepositories, measure, rowFindings, sharedTables } from './house/measure.mjs';
import { exceptions } from './house/rows.mjs';
import { readTree, roomOf } from './house/tree.mjs';

/**
 * `npm run house`: where rows are touched, who owns each table, and how the files lie, beside an earlier commit.
 * `-- --check` only looks for SQL outside of repositories, tables with two owners, circles of files, places that read the clock of
 * their machine, classes that inject more than two repositories and places that reach into libraries, and fails when there are any without a reason.
 */
const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    against: { type: 'string', default: 'eda9c6a' },
    root: { type: 'string', default: fileURLToPath(new URL('..', import.meta.url)) },
  },
});
const today = readTree(values.root);
process.exitCode = values.check ? check() : house();

function check() {
  const { strays, owners } = rowFindings(today);
  nameStrays(strays);
  nameShared(owners);
  const shared = sharedTables(owners).length;
  const clocks = clockReads(today);
  nameClocks(clocks);
  const circles = circlesOf(today);
  nameCircles(circles);
  const asking = manyRepositories(today);
  for (const name of asking) console.log(`More than two repositories are injected, in place of Rows: ${name}`);
  const inside = unexplained(libraryReaches(today));
  nameReaches(inside);
  if (strays.size + shared === 0)
    console.log(`Every row has one home: ${owners.size} tables, each written by one room, SQL in repositories only.`);
  if (strays.size + shared + clocks.size + circles.length + asking.length + inside.length === 0) return 0;
  if (strays.size + shared === 0) return 1;
  console.log(`${strays.size} files with SQL outside of repositories, ${shared} tables with more than one owner.`);
  console.log(
    `SQL and TypeORM calls stand in *.repository.ts, or in ${exceptions.map(({ path, why }) => `\n  ${path.source.replaceAll(/[\\^]/g, '')}  ${why}`).join('')}`,
  );
  return 1;
}

function house() {
  const now = measure(today);
  const then = earlier(values.against);
  const percent = (share) => `${(share * 100).toFixed(1)} %`;
  const figures = [
    ['files with SQL or TypeORM calls outside of repositories', ({ strays }) => strays.size],
    ['tables', ({ owners }) => owners.size],
    ['tables with more than one owner', ({ owners }) => sharedTables(owners).length],
    ['files', ({ files }) => files],
    ['lines by hand, those of packages included', ({ linesByHand }) => linesByHand],
    ['lines of a file, median', ({ median }) => median],
    ['lines of a file, p90', ({ p90 }) => p90],
    ['files with exactly one importer', ({ oneImporter }) => percent(oneImporter)],
    ['... and under 40 lines', ({ oneImporterSmall }) => percent(oneImporterSmall)],
    ['circles of files, imports of types included', ({ circles }) => circles.length],
    ['files in the largest of them', ({ circles }) => circles[0]?.length ?? 0],
    ['rooms of src/modules', ({ rooms }) => rooms],
    ['arrows between rooms', ({ arrows }) => arrows],
    ['two-way pairs of rooms', (tree) => tree.twoWay.length],
    ['arrows but for repositories, entities, DTOs', ({ arrowsOfServices }) => arrowsOfServices],
    ['two-way pairs but for those', (tree) => tree.twoWayOfServices.length],
    ['constructors with more than 8 dependencies', ({ constructors }) => constructors.length],
    ['pairs of files that share six lines', ({ duplicates }) => duplicates.length],
    ['Nest modules', ({ modules }) => modules],
    ['exports that no other file names', (tree) => tree.unusedExports.length],
    ['places that reach into a library', ({ reaches: places }) => places.length],
    ['doc comments that begin with a fragment', ({ words }) => percent(words.fragments / words.comments)],
    ['types named by a bare participle', ({ words }) => words.participles.length],
    ['exported type names with several meanings', ({ words }) => words.sharedNames.length],
  ];
  const row = (name, ...cells) =>
    console.log(name.padEnd(58) + cells.map((cell) => String(cell).padStart(10)).join(''));
  row('', 'today', ...(then ? [values.against] : []));
  for (const [name, of] of figures) row(name, of(now), ...(then ? [of(then)] : []));

  for (const [title, tree] of [['today', now], ...(then ? [[values.against, then]] : [])]) {
    console.log(`\nIn the tree of ${title}:`);
    if (tree === now) nameStrays(tree.strays);
    else nameByRoom(tree.strays);
    nameShared(tree.owners);
    nameCircles(tree.circles);
    console.log(`two-way pairs: ${tree.twoWay.join(', ') || 'none'}`);
    console.log(`two-way pairs but for repositories, entities, DTOs: ${tree.twoWayOfServices.join(', ') || 'none'}`);
  }
  nameWords(now.words);
  console.log('\nConstructors with more than 8 dependencies:');
  for (const { path, name, count } of now.constructors.toSorted((a, b) => b.count - a.count))
    console.log(`  ${count}  ${path}  ${name}`);
  console.log(`\nPairs of files that share six lines:\n  ${now.duplicates.join('\n  ')}`);
  console.log(`\nPlaces that reach into a library:`);
  for (const { path, line, what } of now.reaches) console.log(`  ${path}:${line}  ${what}`);
  if (now.unusedExports.length > 0)
    console.log(`\nExports that no other file names:\n  ${now.unusedExports.join('\n  ')}`);
  return 0;
}

function nameWords({ byRoom, participles, sharedNames }) {
  console.log('\nDoc comments, and those that begin with What, Of, How, Whether and the like:');
  for (const [room, { comments, fragments }] of byRoom) {
    if (fragments > 0) console.log(`  ${room}: ${fragments} of ${comments}`);
  }
  console.log(`\nTypes named by a bare participle:\n  ${participles.join('\n  ')}`);
  console.log(`\nExported type names with several meanings:\n  ${sharedNames.join('\n  ')}`);
}

function nameCircles(circles) {
  for (const paths of circles) console.log(`circle of ${paths.length} files: ${paths.join(', ')}`);
  if (circles.length > 0)
    console.log('Move what two files of a circle need of each other to a file that both may import.');
}

function nameClocks(clocks) {
  for (const [path, lines] of clocks) console.log(`The clock of this machine is read: ${path}:${lines.join(', ')}`);
  if (clocks.size === 0) return;
  console.log('Take the time from Clock; the clock of a machine may be read in');
  for (const { path, why } of readers) console.log(`  ${path.source.replaceAll(/[\\^$]/g, '')}  ${why}`);
}

function nameReaches(places) {
  for (const { path, line, what } of places)
    console.log(`An object of a library is reached into: ${path}:${line}  ${what}`);
  if (places.length === 0) return;
  console.log('Use what the library documents; without it there are, each at one place,');
  for (const { path, why } of reaches) console.log(`  ${path.source.replaceAll(/[\\^$]/g, '')}  ${why}`);
}

function nameStrays(strays) {
  for (const [path, uses] of strays) {
    console.log(`SQL outside of a repository: ${path}`);
    const lines = new Map(uses.map(({ line, what }) => [line, what]));
    for (const [line, what] of lines) console.log(`    ${String(line).padStart(4)}  ${what}`);
  }
}

function nameByRoom(strays) {
  const rooms = new Map();
  for (const path of strays.keys()) rooms.set(roomOf(path), [...(rooms.get(roomOf(path)) ?? []), path]);
  console.log('SQL outside of repositories:');
  for (const [room, paths] of rooms)
    console.log(`  ${room}: ${paths.map((path) => path.split('/').at(-1)).join(', ')}`);
}

function nameShared(owners) {
  for (const [table, rooms] of sharedTables(owners)) {
    const named = [...rooms].map(
      ([room, paths]) => `${room} (${paths.map((path) => path.split('/').at(-1)).join(', ') || 'entity'})`,
    );
    console.log(`table with ${rooms.size} owners: ${table}: ${named.join('; ')}`);
  }
}

/** The figures of a commit, or nothing when this clone does not have it. */
function earlier(commit) {
  const archive = archiveOf(commit);
  if (!archive) {
    console.log(`This clone does not have the commit ${commit} (a shallow one?): only today's tree is shown.\n`);
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'muster-house-'));
  try {
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    return measure(readTree(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function archiveOf(commit) {
  try {
    return execFileSync('git', ['archive', commit], {
      cwd: values.root,
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 1 << 30,
    });
  } catch {
    return undefined;
  }
}
