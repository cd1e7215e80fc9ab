import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from './temp-folder.js';

/** Why the tests of containers are left out; undefined: they are not. */
export const withoutPodman: string | undefined = missing();

function missing(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root has podman and runc with a storage of their own here';
  const lacking = ['/usr/bin/podman', '/usr/sbin/runc', '/usr/bin/busybox'].filter((path) => !existsSync(path));
  return lacking.length === 0 ? undefined : `left out without ${lacking.join(', ')} (podman, runc, busybox-static)`;
}

export const image = 'localhost/muster-test:1';

/** Podman on a storage of its own, with one small image. */
export function testPodman() {
  const folder = tempFolder();
  const at = (name: string) => join(folder.path, name);
  const engineArguments = [
    '--cgroup-manager=cgroupfs',
    '--runtime=runc',
    '--storage-driver=vfs',
    `--root=${at('root')}`,
    `--runroot=${at('run')}`,
  ];
  const podman = (...words: string[]): string =>
    execFileSync('/usr/bin/podman', [...engineArguments, ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const names = () => podman('ps', '--all', '--format={{.Names}}').split('\n').filter(Boolean);
  makeRoot(at('image'));
  const archive = at('image.tar');
  execFileSync('tar', ['-C', at('image'), '-cf', archive, '.']);
  podman('import', archive, image);
  return {
    /** Under `cluster.local.containers`: what works where a test may set hardly any limits. */
    settings: {
      engine: '/usr/bin/podman',
      engineArguments,
      createArguments: ['--ulimit=nofile=1024:1024', '--ulimit=nproc=1000:1000'],
      allowedNetworks: ['HOST', 'NONE', 'BRIDGE'],
    },
    engineArguments,
    podman,
    names,
    folder: folder.path,
    remove() {
      for (const name of names()) podman('rm', '--force', '--volumes', name);
      folder.remove();
    },
  };
}

export type TestPodman = ReturnType<typeof testPodman>;

const applets = 'sh sleep cat echo env id true false ls touch kill dd mount head grep wget nc printf stat test'.split(
  ' ',
);

function makeRoot(folder: string): void {
  for (const name of ['bin', 'tmp', 'etc', 'proc', 'dev', 'sys']) mkdirSync(join(folder, name), { recursive: true });
  copyFileSync('/usr/bin/busybox', join(folder, 'bin', 'busybox'));
  for (const applet of applets) symlinkSync('busybox', join(folder, 'bin', applet));
}
