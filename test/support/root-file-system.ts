import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/*
 * Root file systems of Debian packages as they are installed on this machine. They stand in for images that a test cannot
 * download: the same programs in the same places, of another build.
 */

interface Package {
  name: string;
  isEssential: boolean;
  /** Packages that it needs, each with its alternatives. */
  needs: string[][];
  provides: string[];
}

const listOf = (text: string, separator: RegExp): string[] =>
  text
    .split(separator)
    .map((each) => each.trim().replace(/[ (:].*$/s, ''))
    .filter(Boolean);

function installedPackages(): Package[] {
  const format = '${Package}\t${Essential}\t${Pre-Depends}, ${Depends}\t${Provides}\t${db:Status-Status}\n';
  const text = execFileSync('dpkg-query', ['--show', `--showformat=${format}`], { encoding: 'utf8' });
  return text
    .split('\n')
    .map((line) => line.split('\t'))
    .filter((fields) => fields[4] === 'installed')
    .map(([name = '', essential, needs = '', provides = '']) => ({
      name,
      isEssential: essential === 'yes',
      needs: needs.split(',').map((each) => listOf(each, /\|/)),
      provides: listOf(provides, /,/),
    }));
}

/** The packages that every Debian has, those named here, and what they need. */
function withWhatTheyNeed(names: readonly string[]): string[] {
  const all = installedPackages();
  const byName = new Map(all.flatMap((each) => each.provides.map((provided) => [provided, each] as const)));
  for (const each of all) byName.set(each.name, each);
  const found = new Set<string>();
  const left = [...all.filter(({ isEssential }) => isEssential).map(({ name }) => name), ...names];
  for (let name; (name = left.pop()) !== undefined;) {
    const each = byName.get(name);
    if (!each || found.has(each.name)) continue;
    found.add(each.name);
    left.push(...each.needs.flatMap((alternatives) => alternatives.find((one) => byName.has(one)) ?? []));
  }
  return [...found];
}

const isLeftOut = (path: string): boolean => /^\/usr\/share\/(doc|man|info|locale|lintian|bug)\//.test(path);

/** Real path of a file: /bin and the like are links, whatever the list of the package says. */
const realPath = (path: string): string => join(realpathSync(dirname(path)), basename(path));

interface Root {
  /** Debian's names, besides the essential packages. */
  packages?: readonly string[];
  /** Names of users with a number and a group of the same number. */
  users: Readonly<Record<string, number>>;
  /** Adds what no package has, below this folder. */
  add: (folder: string) => void;
}

/** Writes an archive of it, as engines import it. `folder` is for what is put together. */
export function makeRootFileSystem(archive: string, folder: string, { packages = [], users, add }: Root): void {
  const listed = execFileSync('dpkg', ['--listfiles', ...withWhatTheyNeed(packages)], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const links = ['/bin', '/sbin', '/lib', '/lib64'].filter((path) => existsSync(path));
  const paths = [...links, ...listed.split('\n')].filter((path) => path.startsWith('/') && path !== '/.');
  const there = paths.filter((path) => !isLeftOut(path) && existsSync(dirname(path)));
  const files = new Set(there.map(realPath).filter((path) => lstatSync(path, { throwIfNoEntry: false })));
  mkdirSync(join(folder, 'etc'), { recursive: true });
  const entries = Object.entries({ root: 0, ...users });
  const home = (name: string) => (name === 'root' ? '/root' : `/home/${name}`);
  const lines = (line: (entry: [string, number]) => string): string => `${entries.map(line).join('\n')}\n`;
  writeFileSync(
    join(folder, 'etc/passwd'),
    lines(([name, id]) => `${name}:x:${id}:${id}::${home(name)}:/bin/sh`),
  );
  writeFileSync(
    join(folder, 'etc/group'),
    lines(([name, id]) => `${name}:x:${id}:`),
  );
  for (const [name] of entries) mkdirSync(join(folder, home(name)), { recursive: true });
  add(folder);
  const added = new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `/${path}`));
  // Engines refuse an archive that has a path twice.
  const isTwice = (path: string): boolean => files.has(path) && lstatSync(join(folder, path)).isDirectory();
  const tar = (how: string, from: string, paths: string[]) =>
    execFileSync(
      'tar',
      [
        how,
        `--file=${archive}`,
        `--directory=${from}`,
        '--no-recursion',
        '--null',
        '--files-from=-',
        '--owner=0',
        '--group=0',
      ],
      { input: paths.map((path) => `.${path}`).join('\0') },
    );
  for (const path of added) if (isTwice(path)) added.delete(path);
  tar(
    '--create',
    '/',
    [...files].filter((path) => !added.has(path)),
  );
  tar('--append', folder, [...added]);
}

/** The Node.js that runs this, its npm and what npm trusts, in the places in which official images have them. */
export function addNode(folder: string): void {
  const [bin, lib] = ['bin', 'lib/node_modules'].map((path) => join(folder, 'usr/local', path)) as [string, string];
  for (const path of [bin, lib]) mkdirSync(path, { recursive: true });
  cpSync(process.execPath, join(bin, 'node'));
  cpSync(join(dirname(process.execPath), '../lib/node_modules/npm'), join(lib, 'npm'), {
    recursive: true,
    verbatimSymlinks: true,
  });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(bin, 'npm'));
  const trusted = [
    ['/etc/ssl/certs/ca-certificates.crt', 'etc/ssl/certs/ca-certificates.crt'],
    [join(dirname(process.execPath), '../etc/npmrc'), 'usr/local/etc/npmrc'],
  ] as const;
  for (const [from, to] of trusted) if (existsSync(from)) cpSync(from, join(folder, to), { recursive: true });
}
