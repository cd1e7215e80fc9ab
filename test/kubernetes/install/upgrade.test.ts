import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { hasEnded, runAndWait } from 'muster-client';
import { stringify } from 'yaml';
import { pidsOfTask } from '../../e2e/support/processes.js';
import { freePort } from '../../support/free-port.js';
import { startTcpProxy, targetOf, type TcpProxy, throughProxy } from '../../support/tcp-proxy.js';
import { createDatabase } from '../../support/test-database.js';
import { waitFor } from '../../support/wait-for.js';
import { testImage } from '../lab/image.js';
import { agentPrograms, placeInLab } from '../lab/lab-agents.js';
import { Lab, labBinaries } from '../lab/lab.js';
import { PodBinder } from '../lab/pod-binder.js';
import { sweptFolder } from '../lab/sweep.js';
import { ServiceClient } from './service-client.js';
import { runShell } from './shell.js';
import { UpgradeLoad } from './upgrade-load.js';

/*
 * The chart on two nodes with real pods of schedulers and agents, installed, upgraded and rolled back by the commands of the page, while
 * callers go on. In place of an image that nobody has built here, the program is that of this repository, by a volume.
 */

vi.setConfig({ testTimeout: 400_000, hookTimeout: 240_000 });

const wholePage = readFileSync('docs/kubernetes.md', 'utf8');
const page = wholePage.split('\n## Install\n')[1]!.split('\n## ')[0]!;
const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!);
const block = (part: string): string => blocks.find((each) => each.includes(part))!;
const volume = /```yaml\n(apiVersion: v1\nkind: PersistentVolume\n[\s\S]*?)```/.exec(wholePage)![1]!;
const upgrade = block('--set image.tag=');
const rollback = /`(helm .*rollback.*?)`/.exec(page)![1]!;
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const repository = /image\.repository=(\S+)/.exec(page)![1]!;
const newTag = /image\.tag=(\S+)/.exec(upgrade)![1]!;

describe.skipIf(labBinaries === undefined)('the chart on two nodes', () => {
  let folder: string;
  let lab: Lab;
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let relays: { database: TcpProxy; apiServer: TcpProxy };
  let binder: PodBinder;
  let renderer: Server;
  /** One that keeps its connections, as programs do, and one that makes a connection for each call, as commands do. */
  let clients: ServiceClient[] = [];
  let load: UpgradeLoad;

  beforeAll(async () => {
    folder = sweptFolder();
    [lab, database] = await Promise.all([
      Lab.start({
        nodes: 2,
        programs: agentPrograms,
        imageAliases: [version, newTag].map((tag) => `${repository}:${tag}`),
        controllers: [
          'deployment',
          'replicaset',
          'daemonset',
          'endpointslice',
          'garbage-collector',
          'persistentvolume-binder',
        ],
        hasAccounts: true,
      }),
      createDatabase(),
    ]);
    // Pods reach this machine by its address only.
    relays = {
      database: await startTcpProxy(targetOf(database.url), Lab.address()),
      apiServer: await startTcpProxy({ host: '127.0.0.1', port: lab.apiServerPort }, Lab.address()),
    };
    await shell('kubectl delete -f deploy/kubernetes/rbac.yaml');
    binder = new PodBinder(lab);
    binder.start();
    mkdirSync(starts());
    chmodSync(starts(), 0o777);
    mkdirSync(join(lab.folder, 'files'));
    renderer = createServer((incoming, response) => {
      void text(incoming).then((manifests) => {
        const nodes = lab.nodes.map(({ name }) => name);
        response.end(placeInLab(manifests, { nodes, folder: join(lab.folder, 'files') }));
      });
    });
    await new Promise<void>((resolve) => renderer.listen(0, '127.0.0.1', resolve));
    writeHelm();
  });
  afterAll(async () => {
    await load?.stop();
    for (const client of clients) await client.close();
    renderer?.close();
    await shell('helm -n muster uninstall muster --wait --cascade foreground').catch(() => undefined);
    await binder?.stop();
    await lab?.stop();
    await relays?.apiServer.close();
    await relays?.database.close();
    await database?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const starts = () => join(lab.folder, 'starts');

  /** Values of the lab, and what is done to the manifests. */
  function writeHelm(): void {
    const values = {
      env: [
        { name: 'KUBERNETES_SERVICE_HOST', value: Lab.address() },
        { name: 'KUBERNETES_SERVICE_PORT', value: String(relays.apiServer.port) },
      ],
      logs: { claim: 'muster-logs' },
      settings: { cluster: { kubernetes: { image: testImage, allowedHostPaths: [starts()] } } },
    };
    writeFileSync(join(folder, 'lab.yaml'), stringify(values));
    const url = `http://127.0.0.1:${(renderer.address() as AddressInfo).port}`;
    const body = `fetch('${url}', { method: 'POST', body: require('fs').readFileSync(0) })`;
    const script = `#!${process.execPath}\n${body}.then((made) => made.text()).then((text) => process.stdout.write(text));\n`;
    writeFileSync(join(folder, 'place-in-lab'), script, { mode: 0o755 });
  }

  /** The claim of the page, of a folder of both nodes in place of a server. */
  function writeVolume(): string {
    const logs = join(lab.folder, 'logs');
    mkdirSync(logs);
    const path = join(folder, 'volume.yaml');
    writeFileSync(path, volume.replace(/nfs: \{.*\}/, `hostPath: { path: ${logs} }`));
    return path;
  }

  /** As an operator types it. */
  async function shell(script: string, env: Record<string, string> = {}): Promise<string> {
    const port = await freePort();
    const prelude = `
      helm() {
        case "$*" in
          *' install '* | *' upgrade '*) command helm "$@" -f '${folder}/lab.yaml' --post-renderer '${folder}/place-in-lab' ;;
          *) command helm "$@" ;;
        esac
      }
      kubectl() {
        case "$*" in
          *' port-forward '*) exec "${labBinaries}/kubectl" "$@" >'${folder}/forward.out' 2>&1 ;;
          *) command kubectl "$@" ;;
        esac
      }
      node() {
        until grep -q '^Forwarding' '${folder}/forward.out'; do sleep 0.1; done
        command node "$@"
      }
      trap 'kill $(jobs -p) 2>/dev/null || true' EXIT`;
    const placed = script
      .replaceAll('127.0.0.1:7099', `127.0.0.1:${port}`)
      .replaceAll('service/muster 7099', `service/muster ${port}:7099`);
    const whole = { HOME: folder, DATABASE_URL: throughProxy(database.url, relays.database, Lab.address()), ...env };
    const { failed, output } = await runShell(lab, `${prelude}\n${placed}`, whole);
    expect(failed, `${placed}\n${output}`).toBe(false);
    return output;
  }

  /** Pods of schedulers and agents, by their ids, with the image that they have. */
  async function programPods(): Promise<Map<string, string>> {
    const query = { labelSelector: 'app.kubernetes.io/instance=muster' };
    const { items } = await lab.api.call<{
      items: { metadata: { uid: string }; spec: { containers: { image: string }[] } }[];
    }>('/api/v1/namespaces/muster/pods', { query });
    return new Map(items.map(({ metadata, spec }) => [metadata.uid, spec.containers[0]!.image]));
  }
  /** All of them are others than before, and of the one version. */
  async function areReplaced(before: Map<string, string>, tag: string): Promise<void> {
    const image = `${repository}:${tag}`;
    const isSo = async () => {
      const pods = await programPods();
      return pods.size === 4 && [...pods].every(([uid, has]) => has === image && !before.has(uid));
    };
    await waitFor(`pods of ${tag} only`, isSo, { timeoutMillis: 120_000 });
  }

  test('the commands of the page install it, and it is reached', async () => {
    const [first, ...others] = block('helm -n muster install').split('\n');
    await shell(`${first}\nkubectl apply -f '${writeVolume()}'`);
    const said = await shell(others.join('\n'));
    const token = /^muster_\S+$/m.exec(said)![0];
    await shell('kubectl -n muster rollout status daemonset/muster-agent');
    const listed = await shell(block('MUSTER_URL'), { TOKEN: token });
    expect(listed).toContain('node-1');
    expect(listed).toContain('node-2');
    const access = { url: 'http://muster.muster.svc:7099', token };
    clients = [true, false].map((keepsConnections) => new ServiceClient(lab, { ...access, keepsConnections }));
    for (const client of clients) await client.ready();
    load = new UpgradeLoad(clients[0]!.muster, clients[1]!.muster, starts());
    await load.prepare();
  });

  test('upgraded and rolled back under load: no call fails for a client that repeats, no task is lost or doubled, and tasks run on', async () => {
    const { muster } = clients[0]!;
    const idsOf = async (requestId: string) =>
      (await muster.tasks.active())
        .filter((task) => task.taskId?.requestId === requestId)
        .map((task) => task.taskId!.id!)
        .toSorted();
    const steady = await idsOf('steady');
    expect(steady).toHaveLength(4);
    const processes = () => steady.map((id) => pidsOfTask(id).toSorted());
    const processesBefore = processes();
    load.start();
    const former = await programPods();
    await shell(upgrade);
    await areReplaced(former, newTag);
    const newer = await programPods();
    const [runsMeanwhile, deploysMeanwhile] = [load.runs.length, load.deploys.length];
    await shell(
      [
        rollback,
        ...['deployment/muster', 'daemonset/muster-agent'].map((what) => `kubectl -n muster rollout status ${what}`),
      ].join('\n'),
    );
    await areReplaced(newer, version);
    await load.stop();

    expect(load.failures).toEqual([]);
    expect(Math.min(runsMeanwhile, deploysMeanwhile)).toBeGreaterThan(1);
    // Those that a client repeats: docs/kubernetes.md names them.
    for (const kind of clients.flatMap(({ failedTries }) => [...failedTries.keys()]))
      expect(kind).toMatch(/^(503 \w+|ECONNRESET|UND_ERR_SOCKET)$/);

    expect(await idsOf('steady')).toEqual(steady);
    expect(processes()).toEqual(processesBefore);
    const started = load.started();
    for (const name of [...load.runs, ...load.jobs])
      expect(
        started.filter((each) => each.name === name),
        name,
      ).toHaveLength(1);
    expect(started.filter(({ name }) => name === 'steady')).toHaveLength(4);
    for (const { taskId } of started.filter(({ name }) => /^(run|once)-/.test(name))) {
      const updates = async () => (await muster.history.task({ taskId })).taskUpdates ?? [];
      const isOver = async () => (await updates()).some(({ taskState }) => hasEnded(taskState));
      await waitFor(`the end of ${taskId}`, isOver);
      const states = (await updates()).map(({ taskState }) => taskState).toSorted();
      const usual = ['TASK_FINISHED', 'TASK_LAUNCHED', 'TASK_RUNNING', 'TASK_STARTING'];
      expect(states, JSON.stringify(await updates(), null, 1)).toEqual(usual);
    }
    await waitFor('the former tasks to end', async () => (await idsOf('moving')).length === 2);
    const moving = started.filter(({ name }) => name === 'moving').map(({ taskId }) => taskId);
    expect(moving).toHaveLength(2 * (1 + load.deploys.length));
    for (const id of steady) {
      const { files } = await muster.sandbox.browse({ taskId: id, path: '' });
      expect(files?.map(({ name }) => name)).toContain('stdout');
    }
  });

  test('logs on a volume that both nodes mount are found when the pod and its node are gone', async () => {
    const [client] = clients;
    const { muster } = client!;
    const lost = 'node-2';
    const print = async (node: string): Promise<string> => {
      const requestId = `print-${node}`;
      const requiredSlaveAttributes = { 'kubernetes.io/hostname': node };
      await muster.requests.save({ body: { id: requestId, requestType: 'ON_DEMAND', requiredSlaveAttributes } });
      const deploy = { requestId, id: 'v1', command: `echo printed on ${node}`, shell: true };
      await muster.deploys.start({ body: { deploy } });
      return (await runAndWait(muster, { requestId }, { timeoutMs: 90_000 })).taskId!.id!;
    };
    const taskIds = [await print('node-1'), await print(lost)];
    const found = async () => (await muster.logs.search({ body: { taskIds } })).results ?? [];
    const areKept = async () => {
      const keys = (await found()).map(({ key }) => key);
      return ['node-1', lost].every((node) => keys.some((key) => key.includes(`print-${node}`)));
    };
    await waitFor('the logs of both', areKept, { timeoutMillis: 180_000 });

    await lab.cordon(lost, true);
    for (const pod of await lab.pods())
      if (pod.spec?.nodeName === lost && pod.metadata?.labels?.['app.kubernetes.io/name'] === 'muster')
        await shell(`kubectl -n muster delete pod ${pod.metadata.name}`);
    await shell('kubectl -n muster rollout status deployment/muster');
    await lab.nodes.find(({ name }) => name === lost)!.stop();
    await lab.api.call(`/api/v1/nodes/${lost}`, { method: 'DELETE' });
    for (const pod of await lab.pods())
      if (taskIds.includes(pod.metadata?.annotations?.['muster/task-id'] ?? '')) await lab.deleteByForce(pod);

    const texts = await Promise.all((await found()).map(({ getUrl }) => client!.text(getUrl!)));
    expect(texts.toSorted()).toEqual(['printed on node-1\n', `printed on ${lost}\n`]);
  });
});
