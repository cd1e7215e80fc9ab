import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { binFolder, buildBinaries, hasBinaries } from '../test/kubernetes/binaries/build.mjs';
import { setUp } from './setup.mjs';
import { missingPackages, setUpKubernetes, whyNotHere } from './setup-kubernetes.mjs';

/**
 * `npm run test:kubernetes`: builds a small Kubernetes, and runs the tests that need one; with paths, those tests. Where it cannot, it
 * says so in one line. `--in-ci`: installs packages that are missing, and runs what has to hold of every commit. Programs that are not
 * built yet are built only with MUSTER_KUBERNETES_BUILD=1: that takes 16 minutes of a processor.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const isInCi = process.argv[2] === '--in-ci';
const paths = process.argv.slice(isInCi ? 3 : 2);

const why = whyNotHere() ?? (isInCi ? whyNotInCi() : whyIncomplete());
if (why !== undefined) {
  console.log(`Left out: tests on Kubernetes, ${why}`);
  process.exit(isInCi ? 3 : 0);
}
// CI has set up already.
if (!isInCi) await setUp();
const bin = isInCi ? setUpKubernetes() : buildBinaries();

const mainJob = 'test/e2e/main-job.test.ts';
const everyCommit = ['test/kubernetes/kubernetes-driver.test.ts', 'test/kubernetes/install/'];
// That of this machine is one of the deep tests. Names of tests have quotes around words of their tables.
const onKubernetes = ['-t', 'on .?kubernetes'];
const runs = isInCi ? [everyCommit, [mainJob, ...onKubernetes]] : [['test/kubernetes/', mainJob]];
const failed = (paths.length > 0 ? [paths] : runs).filter((words) => !passes(words));
// What is left where the tests were killed.
spawnSync(process.execPath, ['--import', './test/support/ts-register.mjs', 'test/kubernetes/lab/sweep.ts'], {
  cwd: root,
  stdio: 'inherit',
});
process.exit(failed.length === 0 ? 0 : 1);

function whyNotInCi() {
  if (hasBinaries() || process.env.MUSTER_KUBERNETES_BUILD === '1') return undefined;
  return `its programs are not in ${binFolder()}: npm run setup:kubernetes, or MUSTER_KUBERNETES_BUILD=1`;
}

function whyIncomplete() {
  const missing = missingPackages();
  return missing.length > 0 ? `it needs ${missing.join(' ')}: npm run setup:kubernetes` : undefined;
}

function passes(words) {
  const vitest = join('node_modules', 'vitest', 'vitest.mjs');
  const command = [...inOwnNetwork(), process.execPath, vitest, 'run', ...words, '--maxWorkers=1'];
  const { status } = spawnSync(command[0], command.slice(1), {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, NODE_ENV: 'test', MUSTER_KUBERNETES_BIN: bin },
  });
  return status === 0;
}

/**
 * The command before one that runs in a network of its own, with one address beside loopback. Each pod has interfaces, and browsers of
 * this machine break their calls off whenever one comes or goes. A database elsewhere would not be reached from there.
 */
function inOwnNetwork() {
  if (process.env.DATABASE_URL !== undefined) return [];
  const setUpNetwork = [
    'ip link set lo up',
    'ip link add machine type veth peer name nowhere',
    'ip address add 192.0.2.1/24 dev machine',
    'ip link set machine up',
    'ip link set nowhere up',
    'ip route add default via 192.0.2.254',
    'exec "$@"',
  ].join(' && ');
  return ['unshare', '--net', 'sh', '-c', setUpNetwork, 'sh'];
}
