import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { Cgroups } from './cgroups.js';
import { pidsBelow } from './group-files.js';
import { keepPlaces, parseMounts, readMounts, type CgroupMount } from './mounts.js';
import { openV2 } from './v2.js';

const folder = tempFolder();
afterAll(() => folder.remove());
const made = (...path: string[]) => {
  const result = join(folder.path, ...path);
  mkdirSync(result, { recursive: true });
  return result;
};

describe('mounts', () => {
  test('of version 2', () => {
    const root = made('v2');
    made('v2', 'user.slice', 'session 1');
    expect(parseMounts(`cgroup2 ${root} cgroup2 rw,nsdelegate 0 0`, '0::/user.slice/session 1\n')).toEqual([
      { version: 2, controllers: [], root, own: join(root, 'user.slice/session 1') },
    ]);
  });

  test('of version 1 and of both', () => {
    const [cpu, unified] = [made('h', 'cpu,cpuacct'), made('h', 'a b')];
    made('h', 'cpu,cpuacct', 'deep');
    const mounts = `cgroup ${cpu} cgroup rw,cpu,cpuacct 0 0\ncgroup2 ${unified.replace(' ', '\\040')} cgroup2 rw 0 0\nproc /proc proc rw 0 0\ncgroup /s cgroup rw,xattr,name=systemd 0 0`;
    expect(parseMounts(mounts, '4:cpu,cpuacct:/deep\n1:name=systemd:/\n0::/not/visible/from:here\n')).toEqual([
      { version: 1, controllers: ['cpu', 'cpuacct'], root: cpu, own: join(cpu, 'deep') },
      { version: 2, controllers: [], root: unified, own: unified },
      { version: 1, controllers: ['name=systemd'], root: '/s', own: '/s' },
    ]);
  });

  test('keep their places', () => {
    const parent = made('kept', 'a', 'muster-x');
    const mount: CgroupMount = { version: 2, controllers: [], root: join(folder.path, 'kept'), own: '/elsewhere' };
    expect(keepPlaces([mount], [parent])).toEqual([{ ...mount, own: join(folder.path, 'kept', 'a') }]);
    expect(keepPlaces([mount], [`${parent}-gone`])).toEqual([mount]);
  });
});

test('a machine without cgroups has none, and says so', () => {
  const cgroups = Cgroups.probe('muster-none', []);
  expect(cgroups.missing).toBe('tasks have no cpu and no memory limit');
  expect(cgroups.group('x').pids()).toBeUndefined();
  expect(cgroups.group('x').procsFiles).toEqual([]);
});

test('a folder that only looks like a cgroup is found out', () => {
  const root = made('fake');
  const mount: CgroupMount = { version: 1, controllers: ['memory'], root, own: root };
  expect(Cgroups.probe('muster-fake', [{ ...mount, own: '/proc/nowhere' }]).missing).toMatch(
    /no cpu and no memory limit \(.+\)/,
  );
});

/** A plain folder takes every write: enough to see what is written where, and how figures are read. */
describe('version 2, on plain files', () => {
  const root = made('plain');
  writeFileSync(join(root, 'cgroup.controllers'), 'cpuset cpu io memory pids\n');
  writeFileSync(join(root, 'cgroup.procs'), '1\n2\n');
  const hierarchy = openPlain();
  const group = made('plain', 'muster-x', 'task');

  function openPlain() {
    // A cgroup can be removed with its files in it, a plain folder cannot: the probe is left behind here.
    try {
      return openV2({ version: 2, controllers: [], root, own: root }, 'muster-x');
    } catch {
      return undefined;
    }
  }

  test('does not come up where the kernel does not keep it', () => {
    expect(hierarchy).toBeUndefined();
    expect(existsSync(group)).toBe(true);
    expect(readFileSync(join(root, 'cgroup.subtree_control'), 'utf8')).toBe('+memory');
  });
});

describe.runIf(existsSync('/sys/fs/cgroup'))('on this machine', () => {
  const name = `muster-unit-${process.pid}`;
  const cgroups = Cgroups.probe(name, readMounts());
  afterEach(() => cgroups.removeAll());

  test.skipIf(cgroups.parents.length === 0)('groups are made, asked and removed', async () => {
    const group = cgroups.group('a task');
    expect(group.pids()).toBeUndefined();
    group.create({ cpus: 0.5, memoryMb: 50, cpuHardLimit: 1 });
    expect(group.pids()).toEqual([]);
    expect(cgroups.names()).toEqual(['a task']);
    expect(group.outOfMemoryKills()).toBe(0);
    expect(group.procsFiles.every((file) => existsSync(file))).toBe(true);
    expect(cgroups.parents.map((parent) => pidsBelow(parent))).toEqual(cgroups.parents.map(() => []));
    await group.remove();
    expect(cgroups.names()).toEqual([]);
    await cgroups.removeAll();
    expect(cgroups.parents.filter((parent) => existsSync(parent))).toEqual([]);
  });
});
