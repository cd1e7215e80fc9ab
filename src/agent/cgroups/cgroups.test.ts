import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { Cgroups } from './cgroups.js';
import { pidsBelow } from './group-files.js';
import { keepPlaces, parseMounts, readMounts, type CgroupMount } from './mounts.js';
import { V1Hierarchy } from './v1.js';
import { V2Hierarchy } from './v2.js';

const directory = tempFolder();
afterAll(() => directory.remove());
const made = (...path: string[]) => {
  const result = join(directory.path, ...path);
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
    const mount: CgroupMount = { version: 2, controllers: [], root: join(directory.path, 'kept'), own: '/elsewhere' };
    expect(keepPlaces([mount], [parent])).toEqual([{ ...mount, own: join(directory.path, 'kept', 'a') }]);
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

/** Plain directories take every write and every file: enough to see what is written where, and how figures are read. */
describe('files of version 2', () => {
  const task = made('plain2', 'task');
  const hierarchy = new V2Hierarchy(join(directory.path, 'plain2'), new Set(['cpu', 'memory', 'pids']));
  const read = (name: string) => readFileSync(join(task, name), 'utf8');

  test('take the limits', () => {
    writeFileSync(join(task, 'memory.swap.max'), 'max');
    hierarchy.limit(task, { cpus: 0.5, memoryMb: 64, cpuHardLimit: 2, maxProcesses: 99 });
    expect([read('cpu.weight'), read('cpu.max'), read('pids.max')]).toEqual(['50', '200000 100000', '99']);
    expect([read('memory.max'), read('memory.swap.max')]).toEqual([String(64 * 1024 * 1024), '0']);
  });

  test('give the figures', () => {
    writeFileSync(
      join(task, 'cpu.stat'),
      'usage_usec 9\nuser_usec 2500000\nsystem_usec 500000\nnr_periods 7\nnr_throttled 3\nthrottled_usec 1500000\n',
    );
    writeFileSync(join(task, 'memory.stat'), 'anon 11\nfile 22\nfile_mapped 33\n');
    writeFileSync(join(task, 'memory.current'), '44\n');
    expect(hierarchy.outOfMemoryKills(task)).toBe(0);
    writeFileSync(join(task, 'memory.events'), 'oom 2\noom_kill 1\n');
    expect(hierarchy.outOfMemoryKills(task)).toBe(1);
    expect(hierarchy.usage(task)).toEqual({
      cpusNrPeriods: 7,
      cpusNrThrottled: 3,
      cpusThrottledTimeSecs: 1.5,
      cpusUserTimeSecs: 2.5,
      cpusSystemTimeSecs: 0.5,
      memTotalBytes: 44,
      memAnonBytes: 11,
      memFileBytes: 22,
      memMappedFileBytes: 33,
    });
  });

  test('kill where the kernel has a file for that', () => {
    expect(hierarchy.killAll(task)).toBe(false);
    expect(existsSync(join(task, 'cgroup.kill'))).toBe(false);
    writeFileSync(join(task, 'cgroup.kill'), '');
    expect(hierarchy.killAll(task)).toBe(true);
    expect(read('cgroup.kill')).toBe('1');
  });
});

test('files of version 1 take the limits and give the figures', () => {
  const task = made('plain1', 'task');
  const hierarchy = new V1Hierarchy(join(directory.path, 'plain1'), new Set(['cpu', 'cpuacct', 'memory', 'pids']));
  hierarchy.limit(task, { cpus: 0.5, memoryMb: 64, cpuHardLimit: 2, maxProcesses: 99 });
  const read = (name: string) => readFileSync(join(task, name), 'utf8');
  expect([read('cpu.shares'), read('cpu.cfs_period_us'), read('cpu.cfs_quota_us')]).toEqual([
    '512',
    '100000',
    '200000',
  ]);
  expect(read('pids.max')).toBe('99');
  expect(read('memory.limit_in_bytes')).toBe(String(64 * 1024 * 1024));
  writeFileSync(join(task, 'cpu.stat'), 'nr_periods 7\nnr_throttled 3\nthrottled_time 1500000000\n');
  writeFileSync(join(task, 'cpuacct.stat'), 'user 250\nsystem 50\n');
  writeFileSync(join(task, 'memory.stat'), 'cache 1\nrss 1\ntotal_cache 22\ntotal_rss 11\ntotal_mapped_file 33\n');
  writeFileSync(join(task, 'memory.usage_in_bytes'), '44\n');
  writeFileSync(join(task, 'memory.oom_control'), 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n');
  expect(hierarchy.outOfMemoryKills(task)).toBe(2);
  expect(hierarchy.usage(task)).toMatchObject({
    cpusThrottledTimeSecs: 1.5,
    cpusUserTimeSecs: 2.5,
    memTotalBytes: 44,
    memAnonBytes: 11,
  });
});

describe('on this machine', () => {
  let cgroups: Cgroups;
  beforeAll(() => void (cgroups = Cgroups.probe(`muster-unit-${process.pid}`, readMounts())));
  afterAll(() => cgroups.removeAll());

  test('groups are made, asked and removed', async ({ skip }) => {
    skip(cgroups.parents.length === 0, 'no cgroup works here');
    const group = cgroups.group('a task');
    expect(group.pids()).toBeUndefined();
    group.create({ cpus: 0.5, memoryMb: 50, cpuHardLimit: 1, maxProcesses: 99 });
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

  test('a move is expected: the group is there, and this process where it was', async ({ skip }) => {
    skip(cgroups.parents.length === 0, 'no cgroup works here');
    const place = readFileSync('/proc/self/cgroup', 'utf8');
    const groups = ['one', 'another'].map((name) => cgroups.group(name));
    const limits = { cpus: 0.5, memoryMb: 50, maxProcesses: 99 };
    await Promise.all(groups.map((group) => cgroups.expectMoveInto(group, limits)));
    expect(groups.map((group) => group.pids())).toEqual([[], []]);
    expect(readFileSync('/proc/self/cgroup', 'utf8')).toBe(place);
    for (const group of groups) await group.remove();
  });
});
