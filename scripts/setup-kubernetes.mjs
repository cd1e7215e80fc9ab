import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildBinaries, goVersion } from '../test/kubernetes/binaries/build.mjs';

/**
 * `npm run setup:kubernetes`: everything that tests on a real Kubernetes need. Packages that are missing are named, all at once, and
 * installed as root where there is apt-get; the programs of the cluster are built once and kept.
 */

/** What tests run, by name or path, and the Debian package that it is in. */
const packageOf = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
  '/bin/busybox': 'busybox-static',
  '/usr/bin/nsenter': 'util-linux',
  '/usr/bin/unshare': 'util-linux',
  '/usr/bin/setpriv': 'util-linux',
  iptables: 'iptables',
  ip: 'iproute2',
  openssl: 'openssl',
};

/** Reason why no package would help; undefined: none. */
export function whyNotHere() {
  if (process.platform !== 'linux') return 'it needs Linux';
  if (process.getuid() !== 0) return 'it needs root';
  return goVersion() === undefined ? 'it needs Go (1.24 or newer)' : undefined;
}

/** Packages of which this machine lacks something, in the order of the alphabet. */
export const missingPackages = () => [
  ...new Set(
    Object.entries(packageOf)
      .filter(([program]) => !isThere(program))
      .map(([, name]) => name)
      .toSorted(),
  ),
];

function isThere(program) {
  const places = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, program));
  return (isAbsolute(program) ? [program] : places).some((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Folder of the programs of the cluster. Throws with all that is missing and cannot be installed. */
export function setUpKubernetes() {
  const why = whyNotHere();
  if (why !== undefined) throw new Error(why);
  const missing = missingPackages();
  if (missing.length > 0) {
    console.log(`Installing ${missing.join(' ')}`);
    const install = ['install', '-y', '-qq', '--no-install-recommends', ...missing];
    // A list of packages that is there may be too old.
    if (!apt(install)) {
      apt(['update', '-qq']);
      apt(install);
    }
    const left = missingPackages();
    if (left.length > 0) throw new Error(`these packages could not be installed: ${left.join(' ')}`);
  }
  return buildBinaries();
}

function apt(words) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status, stderr } = spawnSync('apt-get', words, { env, encoding: 'utf8', timeout: 240_000 });
  if (status !== 0) console.log(stderr ?? 'There is no apt-get');
  return status === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(`Kubernetes for tests: ${setUpKubernetes()}`);
  } catch (cause) {
    console.error(`Kubernetes for tests cannot be set up: ${cause.message}`);
    process.exit(1);
  }
}
