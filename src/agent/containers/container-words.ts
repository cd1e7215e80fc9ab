import { createHash } from 'node:crypto';
import { imageOf, type ContainerInfo, type NetworkInfo, type Volume } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { ContainerSettings } from '../../platform/settings/container-settings.js';
import { DeployFault } from '../artifacts/order.js';
import { bytesOfMb, quotaPeriodMicros } from '../cgroups/group-files.js';
import type { RunAs } from '../machine/run-as.js';
import type { Sandbox } from '../sandbox/sandbox-layout.js';
import type { Engine } from './engine.js';
import { networkKind } from './rules.js';

/** What a container is created from, beside what its deploy says. */
export interface ContainerPlan {
  engine: Engine;
  settings: ContainerSettings;
  spec: LaunchSpec & { container: ContainerInfo };
  sandbox: Sandbox;
  name: string;
  /** By which an agent knows the containers of its folder. */
  agentKey: string;
  envFile: string;
  runAs: RunAs | undefined;
  maxProcesses: number;
  /** Without the links that were on the way, in the order of the volumes; undefined: of one that has another source. */
  hostPaths: readonly (string | undefined)[];
}

export const agentLabel = 'muster.agent';

const longestName = 200;

/** `<prefix><task id>`; a task id that no engine takes as a name gets a form of its own. */
export function containerName(prefix: string, taskId: string): string {
  const safe = taskId.replaceAll(/[^A-Za-z0-9_.-]/g, '_');
  if (safe === taskId && prefix.length + safe.length <= longestName) return `${prefix}${safe}`;
  const digest = createHash('sha256').update(taskId).digest('hex').slice(0, 12);
  return `${prefix}${safe.slice(0, longestName - prefix.length - 13)}-${digest}`;
}

/** Each value stands behind an equals sign, in one word with its option: it is never read as an option itself. */
export function createWords(plan: ContainerPlan): string[] {
  const { spec, settings, name, agentKey, envFile, sandbox } = plan;
  const { container } = spec;
  const parameters = parametersOf(container);
  return [
    'create',
    `--name=${name}`,
    `--label=${agentLabel}=${agentKey}`,
    `--label=muster.task=${spec.taskId}`,
    // What it writes goes to the files of the task, and nowhere else.
    '--log-driver=none',
    '--pull=never',
    `--env-file=${envFile}`,
    ...settings.createArguments,
    ...limits(plan),
    ...rights(plan, parameters),
    mount({ type: 'bind', source: sandbox.executor?.folder ?? sandbox.root, destination: settings.sandboxPath }),
    ...workingFolder(plan, parameters),
    ...networkWords(plan),
    ...(container.volumes ?? []).map((volume, index) => volumeWord(volume, plan.hostPaths[index])),
    ...parameters.map(({ key, value }) => option(key, value)),
    ...command(plan, parameters),
  ];
}

interface Parameter {
  key: string;
  value?: string;
}

/** Both forms in which deploys say them. */
const parametersOf = ({ docker }: ContainerInfo): Parameter[] => [
  ...Object.entries(docker?.parameters ?? {}).map(([key, value]) => ({ key, value })),
  ...(docker?.dockerParameters ?? []).map(({ key = '', value }) => ({ key, value })),
];

const option = (key: string, value: string | undefined): string => {
  const dashes = key.length === 1 ? '-' : '--';
  return value === undefined || value === '' ? `${dashes}${key}` : `${dashes}${key}=${value}`;
};

const has = (parameters: readonly Parameter[], ...keys: string[]): boolean =>
  parameters.some(({ key }) => keys.includes(key));

function limits({ spec, maxProcesses }: ContainerPlan): string[] {
  const { cpus, memoryMb, cpuHardLimit, executorData } = spec;
  const files = executorData?.maxOpenFiles;
  return [
    `--pids-limit=${maxProcesses}`,
    ...(cpus > 0 ? [`--cpu-shares=${Math.min(262_144, Math.max(2, Math.round(cpus * 1024)))}`] : []),
    ...(memoryMb > 0 ? [`--memory=${bytesOfMb(memoryMb)}b`] : []),
    ...(cpuHardLimit === undefined
      ? []
      : [`--cpu-period=${quotaPeriodMicros}`, `--cpu-quota=${Math.round(cpuHardLimit * quotaPeriodMicros)}`]),
    ...(files === undefined ? [] : [`--ulimit=nofile=${files}:${files}`]),
  ];
}

function rights({ spec, settings, runAs, engine }: ContainerPlan, parameters: readonly Parameter[]): string[] {
  // The operator allows it: it is as much as root of the machine, whatever else is said.
  if (spec.container.docker?.privileged) return ['--privileged'];
  const noMore = '--security-opt=no-new-privileges';
  const user = containerUser(settings, runAs, engine);
  if (user === undefined || has(parameters, 'user', 'u')) return [noMore];
  return [noMore, '--cap-drop=all', `--user=${user}`];
}

/** undefined: that of the image. */
function containerUser(
  { runAs: whose }: ContainerSettings,
  runAs: RunAs | undefined,
  { kind }: Engine,
): string | undefined {
  if (whose === 'IMAGE_USER') return undefined;
  if (runAs) return `${runAs.uid}:${runAs.gid}`;
  // An agent that may tell Docker what to run is no more than itself for that: root in a container would be root of the machine.
  const own = process.getuid?.() ?? 0;
  return kind === 'docker' && own !== 0 ? `${own}:${process.getgid?.() ?? own}` : undefined;
}

function workingFolder({ sandbox, settings }: ContainerPlan, parameters: readonly Parameter[]): string[] {
  return sandbox.executor && !has(parameters, 'workdir', 'w') ? [`--workdir=${settings.sandboxPath}/app`] : [];
}

function networkWords({ spec }: ContainerPlan): string[] {
  const { docker, networkInfos = [] } = spec.container;
  const isManaged = spec.executorData !== undefined;
  const names = networkInfos.flatMap(({ name }) => name ?? []);
  const kind = networkKind(spec.container, isManaged);
  const isEnginesOwn = docker?.network === undefined && kind === 'BRIDGE';
  const networks = kind === undefined ? names : isEnginesOwn ? [] : [kind.toLowerCase()];
  // A container in the network of its machine, or in none, has no ports of its own to be reached by.
  const mappings =
    kind === 'HOST' || kind === 'NONE' ? [] : [...(docker?.portMappings ?? []), ...networkInfos.flatMap(portsOf)];
  const published = mappings.map(
    ({ hostPort, containerPort, protocol = 'tcp' }) => `--publish=${hostPort}:${containerPort}/${protocol}`,
  );
  return [...networks.map((network) => `--network=${network}`), ...new Set(published)];
}

const portsOf = ({ portMappings = [] }: NetworkInfo) => portMappings;

function volumeWord({ containerPath = '', mode, source }: Volume, hostPath: string | undefined): string {
  const isReadOnly = mode !== 'RW';
  if (hostPath !== undefined) return mount({ type: 'bind', source: hostPath, destination: containerPath, isReadOnly });
  const { driver, name = '', driverOptions = {} } = source?.dockerVolume ?? {};
  return mount({
    type: 'volume',
    source: name,
    destination: containerPath,
    isReadOnly,
    more: [
      ...(driver === undefined ? [] : [`volume-driver=${driver}`]),
      ...Object.entries(driverOptions).map(([key, value]) => `volume-opt=${key}=${value}`),
    ],
  });
}

interface Mount {
  type: 'bind' | 'volume';
  source: string;
  destination: string;
  isReadOnly?: boolean;
  more?: readonly string[];
}

function mount({ type, source, destination, isReadOnly = false, more = [] }: Mount): string {
  // The rules let no such path come here; should the sandbox lie in one, it would be another mount.
  if (/[,"\n]/.test(source + destination)) throw new DeployFault('A mounted path must have no comma and no quote');
  const parts = [
    `type=${type}`,
    `source=${source}`,
    `destination=${destination}`,
    ...(isReadOnly ? ['readonly'] : []),
    ...more,
  ];
  return `--mount=${parts.join(',')}`;
}

/** The image, and what is run in it. */
function command({ spec }: ContainerPlan, parameters: readonly Parameter[]): string[] {
  const image = imageOf(spec.container)?.name ?? '';
  const { shell, value, arguments: words } = spec.command;
  // As in tasks without a container it is a line for a shell. Shells become the command of a line that is one command.
  if (spec.executorData) return [image, '/bin/sh', '-c', '--', [value, ...words].join(' ')];
  if (!shell) return [image, ...(value === '' ? [] : [value]), ...words];
  const line = ['-c', value, 'sh', ...words];
  return has(parameters, 'entrypoint') ? [image, '/bin/sh', ...line] : ['--entrypoint=/bin/sh', image, ...line];
}

/** Engines read a file of variables line by line, and only so much of each. */
const longestLine = 60_000;

export function environmentFile(environment: Record<string, string>): string {
  for (const [name, value] of Object.entries(environment)) {
    if (/[\n\r]/.test(value))
      throw new DeployFault(`Variable ${name} has a line break, which no container can be given`);
    if (Buffer.byteLength(value) > longestLine) throw new DeployFault(`Variable ${name} is too long for a container`);
  }
  return Object.entries(environment)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

/** The launch's variables plus what only the machine knows. Those that the agent hands down are the operator's to say. */
export function containerEnvironment(
  { spec, sandbox, settings, prefix = '' }: Pick<ContainerPlan, 'spec' | 'sandbox' | 'settings'> & { prefix?: string },
  own: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const { sandboxPath, dockerInheritVariables } = settings;
  const inherited = dockerInheritVariables.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]));
  return {
    ...spec.environment,
    ...(prefix && { [`${prefix}_TASK_ID`]: spec.taskId, [`${prefix}_SANDBOX`]: sandboxPath }),
    CLUSTER_TASK_ID: spec.taskId,
    CLUSTER_SANDBOX: sandboxPath,
    LOG_HOME: sandbox.executor ? `${sandboxPath}/logs` : sandboxPath,
    HOST_SANDBOX_DIR: sandbox.executor?.folder ?? sandbox.root,
    ...(Object.fromEntries(inherited) as Record<string, string>),
  };
}
