import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dashboard, guide, hashOfPackage, hashOfSources } from './source-hash.mjs';
import { install } from './install.mjs';
import { withLock } from './lock.mjs';
import { during } from './progress.mjs';
import { SetupError, nodeProgram } from './run.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const oldestNode = [20, 19];

/**
 * Everything that has to be there before the program runs: packages as the lockfile says, the compiled output, PostgreSQL's
 * links. Done already: nothing happens, and no network is needed. Ends the process when it cannot be done. `packagesOnly` is for
 * images, in which the packages are a layer of their own: nothing of the program has to be there yet.
 */
export async function setUp({ packagesOnly = false } = {}) {
  try {
    checkNode();
    if (isInstalled() && (packagesOnly || (isBuilt() && isDashboardBuilt() && isGuideBuilt()))) return;
    await withLock(join(root, '.setup', 'lock'), async (owner) => {
      if (!isInstalled()) {
        refuseOthersPackages();
        await install(root, owner);
        writeFileSync(stampFile, wantedStamp());
      }
      if (packagesOnly) return;
      if (!isBuilt()) await during('Building', (step) => build(owner, step), { still: 'still building' });
      if (!isDashboardBuilt())
        await during('Building the dashboard', () => buildPackage(dashboard, owner, builtDocument()), {
          still: 'still building',
        });
      if (!isGuideBuilt()) await buildGuide(owner);
      await linkPostgres();
    });
  } catch (cause) {
    const message = describe(cause);
    if (message === undefined) throw cause;
    console.error(message);
    process.exit(1);
  }
}

/** For what the person at the terminal can put right; undefined: all that is known has to be shown. */
function describe(cause) {
  if (cause instanceof SetupError) return cause.message;
  if (!['EACCES', 'EPERM', 'EROFS'].includes(cause.code)) return undefined;
  return `It is not built for these sources and this Node.js, and ${cause.path} cannot be written (${cause.code}): npm run build does it, as the owner of ${root}`;
}

/** Made now, for the PostgreSQL that the program brings: whoever starts it later may not be allowed to write here. */
async function linkPostgres() {
  const built = new URL('../dist/src/platform/', import.meta.url);
  const { findBinaries, linkLibraries } = await import(new URL('embedded-server/binaries.js', built));
  const { StartError } = await import(new URL('errors.js', built));
  try {
    linkLibraries(findBinaries());
  } catch (cause) {
    // No binaries for this platform: the start asks for DATABASE_URL then.
    if (!(cause instanceof StartError)) throw cause;
  }
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return;
  throw new SetupError(`Muster needs Node.js ${oldestNode.join('.')} or newer; this is ${process.versions.node}`);
}

/** Lies inside node_modules, so that whatever removes the packages removes it too. Written last. */
const stampFile = join(root, 'node_modules', '.muster-stamp');

function wantedStamp() {
  const lockfile = readFileSync(join(root, 'package-lock.json'));
  const [major] = process.versions.node.split('.');
  return createHash('sha256').update(lockfile).update(`node ${major}`).digest('hex');
}

function isInstalled() {
  return existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wantedStamp();
}

/** Installing empties the folder first, and a link leads to one that others use. */
function refuseOthersPackages() {
  const packages = join(root, 'node_modules');
  if (!existsSync(packages) || !lstatSync(packages).isSymbolicLink()) return;
  throw new SetupError(
    `${packages} is a link, and what it leads to is not what package-lock.json says; install it there`,
  );
}

const folderOf = (name) => join(root, 'packages', name);
const documentIn = (folder) => join(folder, 'openapi.json');
const builtDocument = () => documentIn(join(root, 'dist'));

const isBuilt = () =>
  isMade(join(root, 'dist'), hashOfSources(root)) && isPackageBuilt('rest-contract') && isClientBuilt(builtDocument());
const isPackageBuilt = (name, document) => isMade(join(folderOf(name), 'dist'), hashOfPackage(root, name, document));
const isClientBuilt = (document) =>
  existsSync(join(folderOf('client'), 'src', 'generated')) && isPackageBuilt('client', readFileSync(document));

/** Its client is made of the document, so it changes with that. */
const isDashboardBuilt = () => existsSync(builtDocument()) && isPackageBuilt(dashboard, readFileSync(builtDocument()));

/** Nothing starts with it: whoever may not write here reads the guide as it was. */
const isGuideBuilt = () => isPackageBuilt(guide) || !isWritable(folderOf(guide));

/** A page with a dead link keeps nobody from starting; a test and `npm run guide` fail. */
async function buildGuide(owner) {
  try {
    await during('Building the guide', () => buildPackage(guide, owner));
  } catch (cause) {
    if (!(cause instanceof SetupError)) throw cause;
    console.error(cause.message);
  }
}

function isWritable(folder) {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function isMade(folder, hash) {
  const file = join(folder, '.source-hash');
  return existsSync(file) && readFileSync(file, 'utf8') === hash;
}

/**
 * Compiles into a folder of its own and puts that in the place of the old one: a half build is never seen. First what the program
 * imports by name, then the program without its commands, the OpenAPI document that it serves, the client that is made of that, and
 * the commands, which use the client. `step` names each of these for who waits.
 */
async function build(owner, step) {
  const [fresh, present, old] = ['dist.new', 'dist', 'dist.old'].map((name) => join(root, name));
  const hash = hashOfSources(root);
  for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
  const document = documentIn(fresh);
  if (!isPackageBuilt('rest-contract')) {
    step('rest-contract, 1 of 5');
    await buildPackage('rest-contract', owner);
  }
  step('the program, 2 of 5');
  await run('The build', [join('node_modules', '@nestjs', 'cli', 'bin', 'nest.js'), 'build'], owner);
  step('the OpenAPI document, 3 of 5');
  await run('The OpenAPI document', [join('scripts', 'openapi-document.mjs'), fresh, document], owner);
  if (!isClientBuilt(document)) {
    step('the client, 4 of 5');
    await buildPackage('client', owner, document);
  }
  step('the command line, 5 of 5');
  await run('The build of the command line', [join('scripts', 'command-line.mjs'), fresh], owner);
  writeFileSync(join(fresh, '.source-hash'), hash);
  if (existsSync(present)) renameSync(present, old);
  renameSync(fresh, present);
  rmSync(old, { recursive: true, force: true });
}

async function buildPackage(name, owner, document) {
  const hash = hashOfPackage(root, name, document && readFileSync(document));
  const args = document === undefined ? [] : [document];
  await run(`The build of ${name}`, [join('scripts', 'build.mjs'), ...args], owner, folderOf(name));
  writeFileSync(join(folderOf(name), 'dist', '.source-hash'), hash);
}

async function run(what, args, owner, cwd = root) {
  const { code, output } = await nodeProgram(args, { cwd, owner });
  if (code !== 0) throw new SetupError(`${what} failed:\n${output}`);
}
