import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from './temp-folder.js';

/** Reason why the tests of containers are left out; undefined: they are not. */
export const withoutPodman: string | undefined = missing('/usr/bin/podman', '/usr/sbin/runc', '/usr/bin/busybox');

/** Reason why tests of containers with a network of their own are left out. */
export const withoutBridges: string | undefined =
  withoutPodman ?? missing('/usr/lib/cni/bridge', '/usr/lib/cni/portmap', '/usr/sbin/iptables');

/**
 * Reason why the tests of the image are left out, which is put together of this machine's packages and started with an init by
 * podman-compose, where services find each other by name.
 */
export const withoutCompose: string | undefined =
  withoutBridges ??
  missing('/usr/bin/podman-compose', '/usr/lib/cni/dnsname', '/usr/bin/catatonit', '/usr/bin/dpkg-query');

function missing(...paths: string[]): string | undefined {
  if (process.getuid?.() !== 0) return 'only root has podman and runc with a storage of their own here';
  const lacking = paths.filter((path) => !existsSync(path));
  if (lacking.length > 0 && process.env.MUSTER_TOOLS_REQUIRED)
    throw new Error(`There must be ${lacking.join(', ')}: no test of containers is left out here`);
  return lacking.length === 0 ? undefined : `left out without ${lacking.join(', ')} (podman, runc, busybox-static)`;
}

export const image = 'localhost/muster-test:1';

/** Name of a network with a subnet of its own; the id of the worker keeps it apart from those of other tests. */
const networkName = `muster-test-${process.pid}`;
const subnet = `10.${100 + (process.pid % 100)}.${Math.floor(process.pid / 100) % 250}.0/24`;

interface PodmanOptions {
  /** Runs it without rights, with a storage of its own. */
  uid?: number;
}

/** Podman on a storage of its own, with one small image. */
export function testPodman({ uid = 0 }: PodmanOptions = {}) {
  const folder = tempFolder();
  const at = (name: string) => join(folder.path, name);
  const engineArguments = [
    '--cgroup-manager=cgroupfs',
    '--runtime=runc',
    '--storage-driver=vfs',
    `--root=${at('root')}`,
    `--runroot=${at('run')}`,
  ];
  // What it reads beside its arguments is in the folder, too.
  const engine = at('podman');
  const networks = `[network]\nnetwork_config_dir="${at('networks')}"\n`;
  for (const [name, text] of Object.entries({ 'containers.conf': networks, 'registries.conf': '', 'auth.json': '{}' }))
    writeFileSync(at(name), text);
  chownSync(at('auth.json'), uid, uid);
  writeFileSync(
    engine,
    // Health checks are run when a test asks for them: timers of systemd are not everywhere.
    `#!/bin/sh\nexport DISABLE_HC_SYSTEMD=true CONTAINERS_CONF=${at('containers.conf')} CONTAINERS_REGISTRIES_CONF=${at('registries.conf')} ` +
      `REGISTRY_AUTH_FILE=${at('auth.json')} HOME=${at('home')} XDG_RUNTIME_DIR=${at('runtime')}\n` +
      'exec /usr/bin/podman "$@"\n',
    { mode: 0o755 },
  );
  for (const name of ['networks', 'home', 'runtime', '.']) {
    mkdirSync(at(name), { recursive: true, mode: 0o700 });
    chownSync(at(name), uid, uid);
  }
  const podman = (...words: string[]): string =>
    execFileSync(engine, [...engineArguments, ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: '/',
      uid,
      gid: uid,
    });
  const names = () => podman('ps', '--all', '--format={{.Names}}').split('\n').filter(Boolean);
  makeRoot(at('image'));
  const archive = at('image.tar');
  execFileSync('tar', ['-C', at('image'), '-cf', archive, '.']);
  podman('import', archive, image);
  let hasNetwork = false;
  return {
    /** Under `cluster.local.containers`: what works where a test may set hardly any limits. */
    settings: {
      engine,
      engineArguments,
      createArguments: ['--ulimit=nofile=1024:1024', '--ulimit=nproc=1000:1000'],
      allowedNetworks: ['HOST', 'NONE', 'BRIDGE', networkName],
    },
    engine,
    engineArguments,
    podman,
    names,
    folder: folder.path,
    /** Another image of the same files, with further instructions such as `VOLUME /data`. */
    addImage(name: string, ...changes: string[]): void {
      podman('import', ...changes.map((change) => `--change=${change}`), archive, name);
    },
    /** One that takes so many megabytes of the disk and hardly any of the network. */
    addLargeImage(name: string, megabytes: number): void {
      mkdirSync(at('zeros'));
      writeFileSync(at('zeros/zeros'), Buffer.alloc(megabytes * 1024 * 1024));
      execFileSync('tar', ['-C', at('zeros'), '-cf', at('zeros.tar'), '.']);
      podman('import', at('zeros.tar'), name);
    },
    /** A bridge, which is also what containers get that name none. Answers its name. */
    addNetwork(): string {
      podman('network', 'create', '--disable-dns', `--subnet=${subnet}`, networkName);
      writeFileSync(at('containers.conf'), `${networks}default_network="${networkName}"\n`);
      hasNetwork = true;
      return networkName;
    },
    /** Images of this registry are fetched without TLS. */
    trust(registry: string) {
      writeFileSync(at('registries.conf'), `[[registry]]\nlocation="${registry}"\ninsecure=true\n`);
    },
    remove() {
      for (const name of names()) podman('rm', '--force', '--volumes', '--time=0', name);
      if (hasNetwork) {
        // The default one cannot be removed.
        writeFileSync(at('containers.conf'), networks);
        podman('network', 'rm', '--force', networkName);
        rmSync(`/var/lib/cni/networks/${networkName}`, { recursive: true, force: true });
      }
      folder.remove();
    },
  };
}

export type TestPodman = ReturnType<typeof testPodman>;

const applets =
  'sh sleep cat echo env id true false ls touch kill dd mount head grep wget nc printf stat test httpd md5sum'.split(
    ' ',
  );

function makeRoot(folder: string): void {
  for (const name of ['bin', 'tmp', 'etc', 'proc', 'dev', 'sys']) mkdirSync(join(folder, name), { recursive: true });
  mkdirSync(join(folder, 'data'));
  chmodSync(join(folder, 'data'), 0o777);
  copyFileSync('/usr/bin/busybox', join(folder, 'bin', 'busybox'));
  for (const applet of applets) symlinkSync('busybox', join(folder, 'bin', applet));
}
