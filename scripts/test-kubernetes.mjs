import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { binFolder, buildBinaries, goVersion, hasBinaries } from '../test/kubernetes/binaries/build.mjs';
import { setUp } from './setup.mjs';

/** `npm run test:kubernetes`: builds a small Kubernetes, and runs the tests that need one. Where it cannot, it says so in one line. */
const root = fileURLToPath(new URL('..', import.meta.url));

function missing() {
  if (process.platform !== 'linux') return 'it needs Linux';
  if (process.getuid() !== 0) return 'it needs root';
  if (goVersion() === undefined) return 'it needs Go (1.24 or newer)';
  for (const program of ['containerd', 'ctr', 'runc', 'openssl', 'iptables', 'ip'])
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0) return `it needs ${program}`;
  for (const path of ['/usr/lib/cni/bridge', '/bin/busybox', '/usr/bin/nsenter', '/usr/bin/setpriv'])
    if (spawnSync('test', ['-x', path]).status !== 0)
      return `it needs ${path} (containernetworking-plugins, busybox-static, util-linux)`;
  return undefined;
}

/**
 * `--in-ci`: only where the programs have been built before, and only what every driver promises, in the two minutes that CI has left.
 */
const isInCi = process.argv[2] === '--in-ci';
const paths = process.argv.slice(isInCi ? 3 : 2);
const why =
  missing() ?? (isInCi && !hasBinaries() ? 'npm run test:kubernetes has not built it on this machine' : undefined);
if (why !== undefined) {
  console.log(`Left out: tests on Kubernetes, ${why}`);
  process.exit(isInCi ? 3 : 0);
}
// CI has set up already.
if (!isInCi) await setUp();
const bin = isInCi ? binFolder() : buildBinaries();
const all = isInCi ? ['test/kubernetes/kubernetes-driver.test.ts'] : ['test/kubernetes/', 'test/e2e/main-job.test.ts'];
const vitest = join('node_modules', 'vitest', 'vitest.mjs');
const words = [vitest, 'run', ...(paths.length > 0 ? paths : all), '--maxWorkers=1'];
const { status } = spawnSync(process.execPath, words, {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, NODE_ENV: 'test', MUSTER_KUBERNETES_BIN: bin },
});
// What is left where the tests were killed.
spawnSync(process.execPath, ['--import', './test/support/ts-register.mjs', 'test/kubernetes/lab/sweep.ts'], {
  cwd: root,
  stdio: 'inherit',
});
process.exit(status ?? 1);
