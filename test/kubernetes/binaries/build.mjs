import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));

const packages = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  kubelet: 'k8s.io/kubernetes/cmd/kubelet',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
};

/** The version of Go; undefined: there is none. */
export function goVersion() {
  const { status, stdout } = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', cwd: folder });
  return status === 0 ? stdout.trim() : undefined;
}

/**
 * The folder with the programs, which are built where they are not there yet: some minutes, some hundred MB. It is named after all
 * that goes into them, so that another version of anything gets another folder.
 */
export function buildBinaries(say = console.log) {
  const key = createHash('sha256')
    .update(readFileSync(join(folder, 'go.mod')))
    .update(readFileSync(join(folder, 'go.sum')))
    .update(goVersion())
    .digest('hex')
    .slice(0, 16);
  const cache = process.env.MUSTER_KUBERNETES_CACHE ?? join(homedir(), '.cache', 'muster-kubernetes');
  const bin = join(cache, key);
  mkdirSync(bin, { recursive: true });
  const version = /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync(join(folder, 'go.mod'), 'utf8'))[1];
  for (const [name, path] of Object.entries(packages)) {
    const target = join(bin, name);
    if (existsSync(target)) continue;
    say(`Building ${name} of Kubernetes ${version}`);
    const unfinished = `${target}.${process.pid}`;
    const words = ['build', '-mod=readonly', '-trimpath', '-ldflags', stamps(version), '-o', unfinished, path];
    const { status } = spawnSync('go', words, {
      cwd: folder,
      stdio: 'inherit',
      env: { ...process.env, CGO_ENABLED: '0' },
    });
    if (status !== 0) {
      rmSync(unfinished, { force: true });
      throw new Error(`${name} cannot be built`);
    }
    renameSync(unfinished, target);
  }
  return bin;
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
