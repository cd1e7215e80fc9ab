// Pods on nodes that kwok plays, by the Kubernetes driver, by kube-scheduler and by a bare client, in turns on the same API server: bound
// and running per second, the processor time of each part, and the calls that the API server answers. Muster launches as its dispatcher
// does, one call for each node, all at once, on nodes that go round: choosing them is what bench:placement measures. The bare client
// creates the same pods on the same nodes and does nothing else; for kube-scheduler they are created without a node, as many at a time.
// Ten pods a node are there at the end, most of them before the first turn. Then the driver starts again, and is measured until it has
// told the state of each. Needs Go, which builds the programs at first.
//
//   npm run bench:kubernetes                        1,000 nodes, some 5 minutes
//   npm run bench:kubernetes -- --nodes 5000        50,000 pods, some 10 minutes
//   npm run bench:kubernetes -- --pods 3000 --rounds 2 --standing 0
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import v8 from 'node:v8';
import { runInNewContext } from 'node:vm';
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
const { followList, listAll } = await product('cluster/kubernetes/follow-list.js');
const { podOfTask } = await product('cluster/kubernetes/pod-of-task.js');
const { inParallel } = await product('platform/async.js');

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '1000' },
    pods: { type: 'string', default: '3000' },
    rounds: { type: 'string', default: '2' },
    standing: { type: 'string' },
  },
});
const [nodes, pods, rounds] = [values.nodes, values.pods, values.rounds].map(Number);
const podsPerNode = 10;
const standing = Number(values.standing ?? Math.max(0, nodes * podsPerNode - 3 * rounds * pods));
const patient = { timeoutMillis: 600_000, everyMillis: 20 };
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
v8.setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');
const megabytes = (bytes) => Math.round(bytes / 1e6);
const residentMegabytes = ({ pid }) =>
  Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1e3);

// No controller is there that would take off what it puts on new nodes.
const apiServerFlags = ['--disable-admission-plugins=TaintNodesByCondition'];
const lab = await Lab.start({ nodes: 0, isBare: true, apiServerFlags });
const daemons = {};
/** Of each node, by its name. */
const uids = new Map();
try {
  await startKwok();
  await makeNodes();
  await stand();
  const rows = [];
  for (let round = 1; round <= rounds; round++) {
    for (const [name, work] of [
      ['Muster', byMuster],
      ['bare client', byBareClient],
      ['kube-scheduler', byKubeScheduler],
    ]) {
      rows.push(await measure(name, `${name.slice(0, 1).toLowerCase()}${round}`, work));
      console.table(rows.slice(-1));
    }
  }
  const restart = await restarted();
  tell(rows);
  console.table([restart]);
} finally {
  for (const daemon of Object.values(daemons)) await daemon.stop();
  await lab.stop();
}

/** Makes a node ready once. The stages of kwok itself write each node again and again, beside all that is measured. */
function readyOnce() {
  const times = 'lastHeartbeatTime: {{ Now | Quote }}, lastTransitionTime: {{ Now | Quote }}';
  const ready = `{ type: Ready, status: "True", reason: KubeletReady, message: ready, ${times} }`;
  const address = '{ type: InternalIP, address: {{ NodeIP | Quote }} }';
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name: 'ready-once' },
    spec: {
      resourceRef: { apiGroup: 'v1', kind: 'Node' },
      selector: { matchExpressions: [{ key: '.status.phase', operator: 'NotIn', values: ['Running'] }] },
      next: { statusTemplate: `{ phase: Running, conditions: [${ready}], addresses: [${address}] }` },
    },
  };
}

async function startKwok() {
  const config = join(lab.folder, 'kwok.yaml');
  const kind = { apiVersion: 'config.kwok.x-k8s.io/v1alpha1', kind: 'KwokConfiguration' };
  const atOnce = { podPlayStageParallelism: 64, nodePlayStageParallelism: 64 };
  const parts = [{ ...kind, options: { enableCRDs: [], ...atOnce } }, readyOnce()];
  writeFileSync(config, parts.map((part) => JSON.stringify(part)).join('\n---\n'));
  daemons.kwok = new Daemon(
    lab.program('kwok'),
    [
      `--kubeconfig=${lab.adminConfig}`,
      '--manage-all-nodes=true',
      '--node-lease-duration-seconds=0',
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
      for (const { metadata } of items) uids.set(metadata.name, metadata.uid);
      const isReady = ({ type, status }) => type === 'Ready' && status === 'True';
      return items.filter(({ status }) => status.conditions?.some(isReady)).length === nodes;
    },
    { ...patient, everyMillis: 500 },
  );
}

/** Pods that are there before all that is measured. */
async function stand() {
  const startedAt = performance.now();
  await createBound('standing', standing);
  await waitFor('the pods before the first turn to run', async () => (await runningPods()) === standing, {
    ...patient,
    everyMillis: 5_000,
  });
  console.log(`${standing} pods stand after ${Math.round((performance.now() - startedAt) / 1_000)} s`);
}

async function runningPods() {
  const { items } = await listAll(lab.api, podsPath, { fieldSelector: 'status.phase=Running' });
  return items.length;
}

/** Created on their nodes by a client that does nothing else; answers how many seconds it took. */
async function createBound(prefix, count) {
  const settings = lab.settings();
  const startedAt = performance.now();
  const indices = Array.from({ length: count }, (_, index) => index);
  await inParallel(indices, settings.callsAtOnce, (index) => {
    const slaveId = `node-${index % nodes}`;
    const spec = launchSpec({ taskId: `${prefix}-${index}`, slaveId, incarnation: uids.get(slaveId) });
    return lab.api.call(podsPath, { method: 'POST', body: podOfTask(spec, settings) });
  });
  return (performance.now() - startedAt) / 1_000;
}

function parts() {
  return Object.entries({ ...lab.daemons, ...daemons }).filter(([, daemon]) => daemon.isUp);
}

/** `work` calls `begin` before its first pod, and answers when all are bound, and when all run. */
async function measure(name, prefix, work) {
  let before, callsBefore;
  const begin = async () => {
    await settled();
    before = new Map(parts().map(([part, daemon]) => [part, cpuSecondsOf(daemon)]));
    callsBefore = await callsAnswered();
  };
  const { bound, running, own, ...further } = await work(prefix, begin);
  const calls = (await callsAnswered()) - callsBefore;
  const each = (seconds) => `${((seconds / pods) * 1_000).toFixed(2)} ms`;
  const cpu = parts().map(([part, daemon]) => [part, each(cpuSecondsOf(daemon) - (before.get(part) ?? 0))]);
  return {
    name,
    'bound/s': Math.round(pods / bound),
    'running/s': Math.round(pods / running),
    ...further,
    own: each(own),
    ...Object.fromEntries(cpu),
    'API calls': (calls / pods).toFixed(2),
  };
}

/** Until kwok and the API server have done what the turns before left to do. */
async function settled() {
  const used = () => parts().reduce((sum, [, daemon]) => sum + cpuSecondsOf(daemon), 0);
  for (let before, now = used(); before === undefined || now - before > 0.5; now = used()) {
    before = now;
    await pause(2_000);
  }
}

/** By the API server since its start, those of kwok among them. */
async function callsAnswered() {
  const chunks = [];
  for await (const chunk of await lab.api.stream('/metrics', {})) chunks.push(chunk);
  const counted = Buffer.concat(chunks)
    .toString()
    .matchAll(/^apiserver_request_total\{[^}]*\} (\S+)$/gm);
  return [...counted].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

function openDriver() {
  return KubernetesDriver.open({ now: Date.now, settings: lab.settings(), defaultRackId: 'DEFAULT', log: quiet });
}

/** Starts a driver that calls `runs` with the id of each task that it tells to run. */
async function startDriver(driver, epoch, runs) {
  await driver.start(epoch, {
    machines: async () => undefined,
    machineDown: async () => undefined,
    statusUpdates: async (updates) => {
      for (const { taskId, state } of updates) if (state === 'TASK_RUNNING') runs(taskId);
    },
    outranked: console.error,
  });
  await waitFor('the nodes', () => driver.machines().length === nodes, patient);
}

async function byMuster(prefix, begin) {
  const running = new Set();
  const driver = await openDriver();
  try {
    const epoch = Date.now();
    await startDriver(driver, epoch, (taskId) => taskId.startsWith(prefix) && running.add(taskId));
    const machines = driver.machines();
    const specs = Array.from({ length: pods }, (_, index) => {
      const { slaveId, incarnation } = machines[index % nodes];
      return launchSpec({ taskId: `${prefix}-${index}`, slaveId, incarnation });
    });
    const byNode = new Map(machines.map(({ slaveId }) => [slaveId, []]));
    for (const spec of specs) byNode.get(spec.slaveId).push(spec);
    await begin();
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

/** The driver anew, with all pods there: until it has told the state of each, and what it keeps of them. */
async function restarted() {
  collectGarbage();
  const heapBefore = process.memoryUsage().heapUsed;
  const cpuBefore = ownCpuSeconds();
  const serverBefore = cpuSecondsOf(lab.daemons['kube-apiserver']);
  const running = new Set();
  const startedAt = performance.now();
  const secondsSince = () => ((performance.now() - startedAt) / 1_000).toFixed(1);
  const driver = await openDriver();
  try {
    const all = standing + 2 * rounds * pods;
    const epoch = Date.now();
    await startDriver(driver, epoch, (taskId) => running.add(taskId));
    const nodesKnown = secondsSince();
    await waitFor('the state of each pod', () => running.size === all, patient);
    const statesKnown = secondsSince();
    const own = (ownCpuSeconds() - cpuBefore).toFixed(1);
    const server = (cpuSecondsOf(lab.daemons['kube-apiserver']) - serverBefore).toFixed(1);
    running.clear();
    collectGarbage();
    const kept = megabytes(process.memoryUsage().heapUsed - heapBefore);
    const idleBefore = ownCpuSeconds();
    await pause(10_000);
    return {
      'pods of tasks': all,
      'pods of others': rounds * pods,
      'nodes known, s': nodesKnown,
      'states told, s': statesKnown,
      'own CPU, s': own,
      'API server CPU, s': server,
      'kept, MB': kept,
      'own CPU of 10 idle s': (ownCpuSeconds() - idleBefore).toFixed(2),
      'API server, MB': residentMegabytes(lab.daemons['kube-apiserver']),
    };
  } finally {
    await driver.close();
  }
}

async function byBareClient(prefix, begin) {
  const seen = await followPods(prefix);
  try {
    await begin();
    const cpuBefore = ownCpuSeconds();
    const startedAt = performance.now();
    const bound = await createBound(prefix, pods);
    await waitFor('all to run', () => seen.running.size === pods, patient);
    const seconds = (performance.now() - startedAt) / 1_000;
    return { bound, running: seconds, own: ownCpuSeconds() - cpuBefore, 'not at once': 0 };
  } finally {
    await seen.end();
  }
}

/** Follows the pods of a turn, of which it keeps names alone. */
async function followPods(prefix) {
  const following = new AbortController();
  const seen = {
    bound: new Set(),
    running: new Set(),
    boundAt: undefined,
    async end() {
      following.abort();
      await followed;
    },
  };
  const see = ({ metadata, spec, status }) => {
    if (!metadata.name.includes(`-${prefix}-`)) return;
    if (spec.nodeName) seen.bound.add(metadata.name);
    if (seen.bound.size === pods) seen.boundAt ??= performance.now();
    if (status.phase === 'Running') seen.running.add(metadata.name);
  };
  let listed;
  const isListed = new Promise((resolve) => (listed = resolve));
  const follower = {
    replaced: (items) => {
      items.forEach(see);
      listed();
    },
    changed: see,
    removed: () => undefined,
    heard: () => undefined,
    failed: console.error,
  };
  const followed = followList(lab.api, { path: podsPath, query: {} }, follower, following.signal);
  await isListed;
  return seen;
}

async function byKubeScheduler(prefix, begin) {
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
  const seen = await followPods(prefix);
  try {
    // For the driver they are pods of others.
    const settings = lab.settings({ installation: 'other' });
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
    await begin();
    const cpuBefore = cpuSecondsOf(scheduler);
    const startedAt = performance.now();
    const wanted = Array.from({ length: pods }, (_, index) => podOf(index));
    await inParallel(wanted, settings.callsAtOnce, (body) => lab.api.call(podsPath, { method: 'POST', body }));
    await waitFor('all to run', () => seen.running.size === pods, patient);
    const seconds = (performance.now() - startedAt) / 1_000;
    const own = cpuSecondsOf(scheduler) - cpuBefore;
    return { bound: (seen.boundAt - startedAt) / 1_000, running: seconds, own, 'not at once': 0 };
  } finally {
    await seen.end();
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
    for (const other of ['kube-scheduler', 'bare client']) {
      const [muster, others] = [best('Muster', what), best(other, what)];
      console.log(`${what}: Muster ${muster}, ${other} ${others}: ${(muster / others).toFixed(2)} times as many`);
    }
  }
  console.log(
    'own: processor time of the driver or of the bare client (in this process), or of kube-scheduler, for each pod',
  );
}
