// Pods on 1,000 nodes that kwok plays, by the Kubernetes driver and by kube-scheduler, in turns on the same API server: bound and
// running per second, and the processor time of each part. Muster launches as its dispatcher does, one call for each node, all at once,
// on nodes that go round: choosing them is what bench:placement measures. For kube-scheduler the same pods are created without a node,
// as many at a time. Needs Go, which builds the programs at first.
//
//   npm run bench:kubernetes
//   npm run bench:kubernetes -- --nodes 1000 --pods 3000 --rounds 2
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildBinaries } from '../kubernetes/binaries/build.mjs';

process.env.MUSTER_KUBERNETES_BIN = buildBinaries({ forBenchmark: true });
register('../support/ts-hooks.mjs', import.meta.url, { data: { built: true } });
const product = (path) => import(new URL(`../../dist/src/${path}`, import.meta.url));
const { Lab } = await import('../kubernetes/lab/lab.ts');
const { Daemon } = await import('../kubernetes/lab/daemon.ts');
const { launchSpec } = await import('../support/launch-spec.ts');
const { waitFor } = await import('../support/wait-for.ts');
const { freePort } = await import('../support/free-port.ts');
const { KubernetesDriver } = await product('cluster/kubernetes/kubernetes-driver.js');
const { followList } = await product('cluster/kubernetes/follow-list.js');
const { podOfTask } = await product('cluster/kubernetes/pod-of-task.js');
const { inParallel } = await product('platform/async.js');

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '1000' },
    pods: { type: 'string', default: '3000' },
    rounds: { type: 'string', default: '2' },
  },
});
const [nodes, pods, rounds] = [values.nodes, values.pods, values.rounds].map(Number);
const patient = { timeoutMillis: 120_000, everyMillis: 20 };
const podsPath = '/api/v1/namespaces/muster/pods';
const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const quiet = { info: () => undefined, warn: console.warn, error: console.error };

const cpuSecondsOf = (daemon) => {
  const fields = readFileSync(`/proc/${daemon.pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
};
const ownCpuSeconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

// No controller is there that would take off what it puts on new nodes.
const apiServerFlags = ['--disable-admission-plugins=TaintNodesByCondition'];
const lab = await Lab.start({ nodes: 0, isBare: true, apiServerFlags });
const daemons = {};
try {
  await startKwok();
  await makeNodes();
  const rows = [];
  for (let round = 1; round <= rounds; round++) {
    for (const [name, work] of [
      ['Muster', byMuster],
      ['kube-scheduler', byKubeScheduler],
    ]) {
      rows.push(await measure(name, `${name.slice(0, 1).toLowerCase()}${round}`, work));
      console.table(rows.slice(-1));
    }
  }
  tell(rows);
} finally {
  for (const daemon of Object.values(daemons)) await daemon.stop();
  await lab.stop();
}

async function startKwok() {
  const config = join(lab.folder, 'kwok.yaml');
  const kind = { apiVersion: 'config.kwok.x-k8s.io/v1alpha1', kind: 'KwokConfiguration' };
  const atOnce = { podPlayStageParallelism: 64, nodePlayStageParallelism: 64, nodeLeaseParallelism: 64 };
  writeFileSync(config, JSON.stringify({ ...kind, options: { enableCRDs: [], ...atOnce } }));
  daemons.kwok = new Daemon(
    lab.program('kwok'),
    [
      `--kubeconfig=${lab.adminConfig}`,
      '--manage-all-nodes=true',
      // Else a thousand nodes renew a hundred leases a second, beside all that is measured.
      '--node-lease-duration-seconds=600',
      '--node-ip=127.0.0.1',
      '--cidr=10.245.0.0/16',
      '--tls-cert-file=',
      `--config=${config}`,
      '-v=WARN',
    ],
    join(lab.folder, 'kwok.log'),
  );
  daemons.kwok.start();
}

async function makeNodes() {
  const room = { cpu: '64', memory: '256Gi', pods: '1000' };
  const names = Array.from({ length: nodes }, (_, index) => `node-${index}`);
  await inParallel(names, 32, (name) =>
    lab.api.call('/api/v1/nodes', {
      method: 'POST',
      body: { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { allocatable: room, capacity: room } },
    }),
  );
  await waitFor(
    'the nodes to be ready',
    async () => {
      const { items } = await lab.api.call('/api/v1/nodes');
      const isReady = ({ type, status }) => type === 'Ready' && status === 'True';
      return items.filter(({ status }) => status.conditions?.some(isReady)).length === nodes;
    },
    { ...patient, everyMillis: 500 },
  );
}

/** `work` answers when all are bound, and when all run. */
async function measure(name, prefix, work) {
  const parts = () => Object.entries({ ...lab.daemons, ...daemons }).filter(([, daemon]) => daemon.isUp);
  const before = new Map(parts().map(([part, daemon]) => [part, cpuSecondsOf(daemon)]));
  const { bound, running, own, ...further } = await work(prefix);
  const each = (seconds) => `${((seconds / pods) * 1_000).toFixed(2)} ms`;
  const cpu = parts().map(([part, daemon]) => [part, each(cpuSecondsOf(daemon) - (before.get(part) ?? 0))]);
  return {
    name,
    'bound/s': Math.round(pods / bound),
    'running/s': Math.round(pods / running),
    ...further,
    own: each(own),
    ...Object.fromEntries(cpu),
  };
}

async function byMuster(prefix) {
  const running = new Set();
  const driver = await KubernetesDriver.open({
    now: Date.now,
    settings: lab.settings(),
    defaultRackId: 'DEFAULT',
    log: quiet,
  });
  try {
    const epoch = Date.now();
    await driver.start(epoch, {
      machines: async () => undefined,
      machineDown: async () => undefined,
      statusUpdates: async (updates) => {
        for (const { taskId, state } of updates)
          if (state === 'TASK_RUNNING' && taskId.startsWith(prefix)) running.add(taskId);
      },
      outranked: console.error,
    });
    await waitFor('the nodes', () => driver.machines().length === nodes, patient);
    const machines = driver.machines();
    const specs = Array.from({ length: pods }, (_, index) => {
      const { slaveId, incarnation } = machines[index % nodes];
      return launchSpec({ taskId: `${prefix}-${index}`, slaveId, incarnation });
    });
    const byNode = new Map(machines.map(({ slaveId }) => [slaveId, []]));
    for (const spec of specs) byNode.get(spec.slaveId).push(spec);
    const cpuBefore = ownCpuSeconds();
    const startedAt = performance.now();
    const answers = (await Promise.all([...byNode.values()].map((batch) => driver.launch(batch, epoch)))).flat();
    const bound = (performance.now() - startedAt) / 1_000;
    const accepted = answers.filter(({ outcome }) => outcome === 'ACCEPTED').length;
    await waitFor('all to run', () => running.size >= accepted, patient);
    const seconds = (performance.now() - startedAt) / 1_000;
    return { bound, running: seconds, own: ownCpuSeconds() - cpuBefore, 'not at once': pods - accepted };
  } finally {
    await driver.close();
  }
}

async function byKubeScheduler(prefix) {
  const config = join(lab.folder, 'scheduler.yaml');
  writeFileSync(
    config,
    JSON.stringify({
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      leaderElection: { leaderElect: false },
      // Its own limit, 50 calls a second, would be all that is measured.
      clientConnection: { kubeconfig: lab.adminConfig, qps: 5_000, burst: 5_000 },
    }),
  );
  const port = await freePort();
  const scheduler = new Daemon(
    lab.program('kube-scheduler'),
    [`--config=${config}`, '--bind-address=127.0.0.1', `--secure-port=${port}`],
    join(lab.folder, 'scheduler.log'),
  );
  scheduler.start();
  const following = new AbortController();
  const [bound, running] = [new Set(), new Set()];
  let boundAt;
  const see = ({ metadata, spec, status }) => {
    if (!metadata.name.startsWith(`muster-${prefix}-`)) return;
    if (spec.nodeName) bound.add(metadata.name);
    if (bound.size === pods) boundAt ??= performance.now();
    if (status.phase === 'Running') running.add(metadata.name);
  };
  const follower = {
    replaced: (items) => items.forEach(see),
    changed: see,
    removed: () => undefined,
    heard: () => undefined,
    failed: console.error,
  };
  const followed = followList(lab.api, { path: podsPath, query: {} }, follower, following.signal);
  try {
    const settings = lab.settings();
    const podOf = (index) => {
      const pod = podOfTask(launchSpec({ taskId: `${prefix}-${index}` }), settings);
      delete pod.spec.nodeName;
      return pod;
    };
    // It binds one before the time is taken: it has all nodes in its memory by then.
    const warm = { ...podOf('warm'), metadata: { name: `warm-${prefix}` } };
    await lab.api.call(podsPath, { method: 'POST', body: warm });
    const isWarm = async () => (await lab.api.call(`${podsPath}/warm-${prefix}`)).status.phase === 'Running';
    await waitFor('kube-scheduler', isWarm, patient);
    const cpuBefore = cpuSecondsOf(scheduler);
    const startedAt = performance.now();
    const wanted = Array.from({ length: pods }, (_, index) => podOf(index));
    await inParallel(wanted, settings.callsAtOnce, (body) => lab.api.call(podsPath, { method: 'POST', body }));
    await waitFor('all to run', () => running.size === pods, patient);
    const seconds = (performance.now() - startedAt) / 1_000;
    const own = cpuSecondsOf(scheduler) - cpuBefore;
    return { bound: (boundAt - startedAt) / 1_000, running: seconds, own, 'not at once': 0 };
  } finally {
    following.abort();
    await followed;
    await scheduler.stop();
  }
}

function tell(rows) {
  const best = (name, what) => Math.max(...rows.filter((row) => row.name === name).map((row) => row[what]));
  console.log(
    `\n${cpus().length} x ${cpus()[0].model}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}`,
  );
  console.log(`${nodes} nodes, ${pods} pods a turn, ${rounds} turns each; the faster one of each:`);
  for (const what of ['bound/s', 'running/s']) {
    const [muster, other] = [best('Muster', what), best('kube-scheduler', what)];
    console.log(`${what}: Muster ${muster}, kube-scheduler ${other}: ${(muster / other).toFixed(2)} times as many`);
  }
  console.log('own: processor time of the driver (in this process), or of kube-scheduler, for each pod');
}
