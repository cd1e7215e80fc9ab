import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));

const packages = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  kubelet: 'k8s.io/kubernetes/cmd/kubelet',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
};
/** Programs with modules of their own, which do not go together with those of go.mod. */
const others = { helm: 'helm.sh/helm/v3/cmd/helm@v3.19.4' };
/** Definitions of the objects of the operator of Prometheus, with which an API server checks those of the chart. */
const operator = 'github.com/prometheus-operator/prometheus-operator@v0.83.0';
const definitions = ['servicemonitors', 'prometheusrules'].map((name) => `monitoring.coreos.com_${name}.yaml`);
/** Programs that only the benchmark runs. */
const packagesOfBenchmark = { 'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler' };
const othersOfBenchmark = { kwok: 'sigs.k8s.io/kwok/cmd/kwok@v0.7.0' };

/** The version of Go; undefined: there is none. */
export function goVersion() {
  const { status, stdout } = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', cwd: folder });
  return status === 0 ? stdout.trim() : undefined;
}

/** The folder of the programs. It is named after all that goes into them, so that another version of anything gets another folder. */
export function binFolder() {
  const key = createHash('sha256')
    .update(readFileSync(join(folder, 'go.mod')))
    .update(readFileSync(join(folder, 'go.sum')))
    .update(goVersion())
    .digest('hex')
    .slice(0, 16);
  return join(process.env.MUSTER_KUBERNETES_CACHE ?? join(homedir(), '.cache', 'muster-kubernetes'), key);
}

/** True if no program that tests run has to be built. */
export const hasBinaries = () =>
  [...Object.keys(packages), ...Object.keys(others), 'definitions'].every((name) =>
    existsSync(join(binFolder(), name)),
  );

/** That folder, with all of them, which are built where they are not there yet: some minutes, some hundred MB. */
export function buildBinaries({ forBenchmark = false, say = console.log } = {}) {
  const bin = binFolder();
  const cache = dirname(bin);
  mkdirSync(bin, { recursive: true });
  const version = /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync(join(folder, 'go.mod'), 'utf8'))[1];
  for (const [name, path] of Object.entries({ ...packages, ...(forBenchmark && packagesOfBenchmark) }))
    once(join(bin, name), (unfinished) => {
      say(`Building ${name} of Kubernetes ${version}`);
      go(['build', '-mod=readonly', '-trimpath', '-ldflags', stamps(version), '-o', unfinished, path]);
    });
  for (const [name, path] of Object.entries({ ...others, ...(forBenchmark && othersOfBenchmark) })) {
    const folder = path.replace(/.*@/, `${name}-`);
    once(join(cache, folder), (unfinished) => {
      say(`Building ${name} ${path.replace(/.*@/, '')}`);
      go(['install', '-trimpath', '-ldflags=-s -w', path], { GOBIN: unfinished, GOFLAGS: '' });
    });
    rmSync(join(bin, name), { force: true });
    symlinkSync(join('..', folder, name), join(bin, name));
  }
  const crds = operator.replace(/.*\/(.*)@/, '$1-');
  once(join(cache, crds), (unfinished) => {
    const { Dir } = JSON.parse(
      go(['mod', 'download', '-json', operator], { GOFLAGS: '' }, { cwd: cache, stdio: 'pipe' }),
    );
    mkdirSync(unfinished);
    for (const name of definitions)
      copyFileSync(join(Dir, 'example', 'prometheus-operator-crd', name), join(unfinished, name));
  });
  rmSync(join(bin, 'definitions'), { force: true });
  symlinkSync(join('..', crds), join(bin, 'definitions'));
  return bin;
}

/** A build that is broken off leaves nothing that would be taken for a program. */
function once(target, build) {
  if (existsSync(target)) return;
  const unfinished = `${target}.${process.pid}`;
  try {
    build(unfinished);
    renameSync(unfinished, target);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function go(words, env = {}, options = {}) {
  const { status, stdout } = spawnSync('go', words, {
    cwd: folder,
    stdio: 'inherit',
    encoding: 'utf8',
    env: { ...process.env, CGO_ENABLED: '0', ...env },
    ...options,
  });
  if (status !== 0) throw new Error(`go ${words.join(' ')} failed`);
  return stdout;
}

/** Programs without a version refuse to work together. */
function stamps(version) {
  const [, minor] = version.split('.');
  const values = {
    'k8s.io/component-base/version.gitVersion': version,
    'k8s.io/component-base/version.gitMajor': '1',
    'k8s.io/component-base/version.gitMinor': minor,
    'k8s.io/component-base/version.gitTreeState': 'clean',
    'k8s.io/client-go/pkg/version.gitVersion': version,
  };
  return ['-s', '-w', ...Object.entries(values).map(([name, value]) => `-X ${name}=${value}`)].join(' ');
}
