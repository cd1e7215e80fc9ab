import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildBinaries, goVersion } from '../test/kubernetes/binaries/build.mjs';

/** `npm run test:kubernetes`: builds a small Kubernetes, and runs the tests that need one. Where it cannot, it says so in one line. */
const root = fileURLToPath(new URL('..', import.meta.url));

function missing() {
  if (process.platform !== 'linux') return 'they need Linux';
  if (process.getuid() !== 0) return 'they need root';
  if (goVersion() === undefined) return 'they need Go (1.24 or newer)';
  for (const program of ['containerd', 'ctr', 'runc', 'openssl', 'iptables', 'ip'])
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0) return `they need ${program}`;
  for (const path of ['/usr/lib/cni/bridge', '/bin/busybox'])
    if (spawnSync('test', ['-x', path]).status !== 0)
      return `they need ${path} (containernetworking-plugins, busybox-static)`;
  return undefined;
}

const why = missing();
if (why !== undefined) {
  console.log(`Tests on Kubernetes are skipped: ${why}`);
  process.exit(0);
}
const bin = buildBinaries();
const paths = process.argv.slice(2);
const words = ['vitest', 'run', ...(paths.length > 0 ? paths : ['test/kubernetes/']), '--maxWorkers=1'];
const { status } = spawnSync('npx', ['--no-install', ...words], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, NODE_ENV: 'test', MUSTER_KUBERNETES_BIN: bin },
});
process.exit(status ?? 1);
