import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.js';
import { PodCgroups } from './pod-cgroups.js';

const uid = '0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0';
const slice = `kubepods-burstable-pod${uid.replaceAll('-', '_')}.slice`;

function rootWith(...directories: string[]): string {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  for (const directory of directories) mkdirSync(join(path, directory), { recursive: true });
  return path;
}

test.each([
  `kubepods/burstable/pod${uid}`,
  `kubepods/besteffort/pod${uid}`,
  `kubepods/pod${uid}`,
  `lab2/kubepods/burstable/pod${uid}`,
  `kubepods.slice/kubepods-burstable.slice/${slice}`,
  `kubepods.slice/kubepods-pod${uid.replaceAll('-', '_')}.slice`,
])('the cgroup of a pod is found at %s, in either version', (place) => {
  const first = rootWith(join('memory', place, 'container'), 'cpu/system.slice', 'memory/user.slice/pod-of-others');
  const second = rootWith(join(place, 'container'), 'system.slice');
  writeFileSync(join(second, 'cgroup.controllers'), 'cpu memory pids\n');
  for (const root of [first, second]) expect(new PodCgroups(root, 512).pods()).toEqual(new Map([[uid, place]]));
});

test('where there are none, there are no pods', () => {
  const cgroups = new PodCgroups(rootWith('something'), 512);
  expect([cgroups.areThere, cgroups.pods().size]).toEqual([false, 0]);
});

test.each(['', 'pids'])(
  'a container gets a limit of processes, unless it has a lower one (hierarchy %o)',
  (hierarchy) => {
    const root = rootWith(...['free', 'held'].map((name) => join(hierarchy, 'kubepods', name)));
    if (hierarchy === '') writeFileSync(join(root, 'cgroup.controllers'), 'cpu memory pids\n');
    const file = (name: string) => join(root, hierarchy, 'kubepods', name, 'pids.max');
    writeFileSync(file('free'), 'max\n');
    writeFileSync(file('held'), '100\n');
    const cgroups = new PodCgroups(root, 512);
    for (const name of ['free', 'held', 'gone']) cgroups.limitProcesses(join('kubepods', name));
    expect(['free', 'held'].map((name) => readFileSync(file(name), 'utf8').trim())).toEqual(['512', '100']);
  },
);
