import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { KubernetesDriver } from '../../../src/cluster/kubernetes/kubernetes-driver.js';
import { podOfTask } from '../../../src/cluster/kubernetes/pod-of-task.js';
import { launchSpec } from '../../support/launch-spec.js';
import { createDatabase } from '../../support/test-database.js';
import { waitFor } from '../../support/wait-for.js';
import { Lab, labBinaries } from '../lab/lab.js';
import { sweptFolder } from '../lab/sweep.js';
import { runShell } from './shell.js';
import { kubeconfigOf, nodeName, StandInNode } from './stand-in-node.js';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const page = readFileSync('docs/kubernetes.md', 'utf8').split('\n## Install\n')[1]!.split('\n## ')[0]!;
const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!);
const block = (text: string): string => blocks.find((each) => each.includes(text))!;

const slow = { timeoutMillis: 90_000, everyMillis: 200 };
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
const account = 'system:serviceaccount:muster:muster';

describe.skipIf(labBinaries === undefined)('an empty cluster', () => {
  let folder: string;
  let auditLog: string;
  let lab: Lab;
  let node: StandInNode;
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let token: string;

  beforeAll(async () => {
    folder = sweptFolder();
    auditLog = join(folder, 'audit.log');
    const policy = join(folder, 'policy.json');
    const rules = [{ level: 'Metadata', users: [account] }, { level: 'None' }];
    const kind = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy' };
    writeFileSync(policy, JSON.stringify({ ...kind, omitStages: ['RequestReceived'], rules }));
    [lab, database] = await Promise.all([
      Lab.start({
        nodes: 0,
        controllers: ['deployment', 'replicaset', 'daemonset', 'garbage-collector'],
        apiServerFlags: [`--audit-policy-file=${policy}`, `--audit-log-path=${auditLog}`, '--audit-log-mode=blocking'],
      }),
      createDatabase(),
    ]);
    node = new StandInNode(lab, 'muster');
    await node.start();
    await shell('kubectl delete -f deploy/kubernetes/rbac.yaml');
  });
  afterAll(async () => {
    await node?.stop();
    await lab?.stop();
    await database?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  /**
   * As an operator types it. What only a kubelet could do is done in its place: a command in a container runs beside it, with its
   * variables, and ports are forwarded to where they are already.
   */
  async function shell(script: string): Promise<string> {
    const port = await node.firstPort;
    const prelude = `
      kubectl() {
        case " $* " in
          *' port-forward '*) ;;
          *' exec '*)
            while [ "$1" != -- ]; do shift; done; shift
            (. '${node.folder}/exec.env'; "$@") | tee '${folder}/exec.out' ;;
          *) command kubectl "$@" ;;
        esac
      }
      export TOKEN="$(tail -n 1 '${folder}/exec.out' 2>/dev/null)"`;
    const text = `${prelude}\n${script.replaceAll('127.0.0.1:7099', `127.0.0.1:${port}`)}`;
    const { failed, output } = await runShell(lab, text, { HOME: folder, DATABASE_URL: database.url });
    expect(failed, `${output}\n${node.output()}`).toBe(false);
    return output;
  }

  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { port } = await waitFor('a scheduler', () => node.ready()[0], slow);
    const response = await fetch(`http://127.0.0.1:${port}/api/${path}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Token ${token}` },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  const schedulers = async () =>
    (await lab.pods()).filter(({ metadata }) => metadata?.labels?.['app.kubernetes.io/name'] === 'muster');

  test('the commands of the page make a service of it', async () => {
    const said = await shell(block('helm -n muster install'));
    expect(said).toContain('deployment "muster" successfully rolled out');
    token = /^muster_\S+$/m.exec(said)![0];
    expect(node.ready()).toHaveLength(2);
    expect(await shell(block('MUSTER_URL'))).toContain(nodeName);
  });

  test('nothing is open to callers without a token', async () => {
    const { status } = await fetch(`http://127.0.0.1:${await node.firstPort}/api/requests`);
    expect(status).toBe(401);
  });

  test('a scheduler with the rights of its account runs a task', async () => {
    await call('POST', 'requests', { id: 'web', requestType: 'WORKER', instances: 1 });
    const resources = { cpus: 0.1, memoryMb: 32 };
    await call('POST', 'deploys', { deploy: { requestId: 'web', id: 'v1', command: 'sleep 600', resources } });
    const isRunning = async () =>
      (await call<{ deployResult?: { deployState: string } }>('GET', 'history/request/web/deploy/v1')).deployResult
        ?.deployState === 'SUCCEEDED';
    await waitFor('the deploy to succeed', isRunning, slow);
    const tasks = (await lab.pods()).filter(({ metadata }) => metadata?.labels?.['muster/request'] === 'web');
    expect(tasks.map(({ spec, status }) => [spec?.nodeName, status?.phase])).toEqual([[nodeName, 'Running']]);
    // Its folder was made by the agent.
    const [{ hostPath }] = tasks[0]!.spec!['volumes'] as [{ hostPath: { path: string } }];
    expect(statSync(hostPath.path).isDirectory()).toBe(true);
    const id = tasks[0]!.metadata!.annotations!['muster/task-id'];
    expect(await call<{ currentDirectory: string }>('GET', `sandbox/${id}/browse`)).toBeDefined();
  });

  test('without agents its pods are such as the strictest rules of a namespace let in', async () => {
    const words = '--reset-then-reuse-values --set agent.enabled=false';
    await shell(`helm -n muster upgrade muster deploy/helm/muster ${words}
      kubectl -n muster rollout status deployment/muster`);
    await shell('kubectl label namespace muster pod-security.kubernetes.io/enforce=restricted');
    const pods = (await lab.pods()).map(({ metadata }) => metadata!.name!);
    await shell(
      'kubectl -n muster rollout restart deployment/muster && kubectl -n muster rollout status deployment/muster',
    );
    const old = (await schedulers()).filter(({ metadata }) => pods.includes(metadata!.name!));
    expect(old.filter(({ metadata }) => !metadata?.deletionTimestamp)).toEqual([]);
  });

  test('other settings start other schedulers', async () => {
    await shell(`${block('--reset-then-reuse-values')}\nkubectl -n muster rollout status deployment/muster`);
    const haveIt = () =>
      node.ready().every(({ env }) => readFileSync(env['MUSTER_CONFIG']!, 'utf8').includes('startSeconds: 300'));
    await waitFor('the two', () => node.ready().length === 2 && haveIt(), slow);
  });

  test('in such a namespace tasks have no ports of their nodes', async () => {
    const make = (ports: number[]) =>
      lab.api.call('/api/v1/namespaces/muster/pods', {
        method: 'POST',
        query: { dryRun: 'All' },
        body: podOfTask(launchSpec({ slaveId: nodeName, ports }), lab.settings()),
      });
    await make([]);
    await expect(make([20_000])).rejects.toThrow(/violates PodSecurity "restricted:latest": hostPort/);
  });

  const here = 'muster';
  const [core, leases] = ['', 'coordination.k8s.io'];
  test.each([
    [true, 'create', core, 'pods', here],
    [true, 'watch', core, 'pods', undefined],
    [true, 'get', core, 'pods/log', here],
    [true, 'update', leases, 'leases', here, 'muster-leader'],
    [false, 'update', leases, 'leases', here, 'another'],
    [false, 'create', core, 'pods', 'default'],
    [false, 'delete', core, 'pods', 'kube-system'],
    [false, 'get', core, 'secrets', here],
    [false, 'list', core, 'secrets', undefined],
    [false, 'create', core, 'pods/exec', here],
    [false, 'create', core, 'serviceaccounts/token', here],
    [true, 'patch', core, 'nodes', undefined],
    [false, 'delete', core, 'nodes', undefined],
    [false, 'create', core, 'pods/binding', here],
    [false, 'update', 'apps', 'deployments', here],
    [false, 'create', 'rbac.authorization.k8s.io', 'rolebindings', here],
    [false, 'impersonate', core, 'users', undefined],
  ] as const)('allowed: %s, %s %s %s in %s %s', async (allowed, verb, group, path, namespace, name?: string) => {
    const [resource, subresource] = path.split('/');
    const resourceAttributes = { verb, group, resource, subresource, namespace, name };
    const groups = ['system:serviceaccounts', 'system:serviceaccounts:muster', 'system:authenticated'];
    const { status } = await lab.api.call<{ status: { allowed: boolean } }>(
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      {
        method: 'POST',
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          spec: { user: account, groups, resourceAttributes },
        },
      },
    );
    expect(status.allowed).toBe(allowed);
  });

  test('it is removed as the page says, and leaves nothing', async () => {
    await shell(block('helm -n muster uninstall'));
    expect(await shell('kubectl get namespaces,clusterroles,clusterrolebindings -o name')).not.toMatch(/\/muster/);
  });

  test('the manifests make the same, without Helm', async () => {
    const secret = block('helm -n muster install').split('\n')[1]!;
    await shell('kubectl create namespace muster');
    await shell('kubectl apply --server-side --dry-run=server --validate=strict -f deploy/kubernetes');
    await shell(`${block('kubectl apply --server-side')}${secret}\nkubectl -n muster rollout status deployment/muster`);
    await waitFor('two schedulers', () => node.ready().length === 2, slow);
    await shell(
      'kubectl -n muster scale deployment/muster --replicas=0 && kubectl -n muster rollout status deployment/muster',
    );
    await waitFor('the schedulers to be gone', async () => (await schedulers()).length === 0, slow);
  });

  test('the account has the rights that the driver makes use of, and no others', async () => {
    writeFileSync(auditLog, '');
    await lab.clean();
    const kubeconfig = await kubeconfigOf(lab, 'muster', 'muster', folder);
    const settings = lab.settings({ kubeconfig, startSeconds: 1 });
    const events = {
      machines: async () => undefined,
      machineDown: async () => undefined,
      statusUpdates: async () => undefined,
      outranked: () => undefined,
    };
    // Only what starts is called running by the node: this one waits until it is given up.
    await node.stop();
    const open = () => KubernetesDriver.open({ now: Date.now, settings, defaultRackId: 'DEFAULT', log: quiet });
    const [former, driver] = await Promise.all([open(), open()]);
    try {
      await former.start(1, events);
      await former.stop();
      await driver.start(2, events);
      const [machine] = await waitFor('the node', () => (driver.machines().length > 0 ? driver.machines() : undefined));
      const spec = launchSpec({ slaveId: machine!.slaveId, incarnation: machine!.incarnation });
      expect(await driver.launch([spec], 2)).toMatchObject([{ outcome: 'ACCEPTED' }]);
      expect(await driver.launch([spec], 2)).toMatchObject([{ outcome: 'ACCEPTED' }]);
      expect(await driver.reconcile(2)).toMatchObject([{ tasks: [{ taskId: spec.taskId }] }]);
      await (await driver.sandbox(spec.taskId, machine!.slaveId))!.list('').catch(() => undefined);
      await driver.hold(new Set([machine!.slaveId]), 2);
      expect(await driver.kill('never-heard-of', machine!.slaveId, 1_000, 2)).toBe('GONE');
      await waitFor('it to be given up', async () => (await used()).has('namespace patch pods'), slow);
      await waitFor('it to be deleted', async () => (await used()).has('namespace delete pods'), slow);
    } finally {
      await former.close();
      await driver.close();
    }
    expect([...(await used())].toSorted()).toEqual([...granted()].toSorted());
  });

  /** By the calls that the API server has noted. */
  async function used(): Promise<Set<string>> {
    interface Noted {
      verb: string;
      objectRef?: { resource: string; apiGroup?: string; subresource?: string; namespace?: string };
    }
    const lines = readFileSync(auditLog, 'utf8').split('\n').filter(Boolean);
    return new Set(
      lines
        .map((line) => JSON.parse(line) as Noted)
        .map(({ verb, objectRef: { resource, subresource, namespace } = { resource: '' } }) =>
          [namespace ? 'namespace' : 'cluster', verb, [resource, subresource].filter(Boolean).join('/')].join(' '),
        ),
    );
  }

  function granted(): Set<string> {
    interface Role {
      kind: string;
      rules?: { resources: string[]; verbs: string[] }[];
    }
    const objects = parseAllDocuments(readFileSync('deploy/kubernetes/rbac.yaml', 'utf8'));
    return new Set(
      objects
        .map((each) => each.toJS() as Role)
        .flatMap(({ kind, rules = [] }) =>
          rules.flatMap(({ resources, verbs }) =>
            resources.flatMap((resource) =>
              verbs.map((verb) => `${kind === 'Role' ? 'namespace' : 'cluster'} ${verb} ${resource}`),
            ),
          ),
        ),
    );
  }
});
