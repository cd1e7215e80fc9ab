import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type { ContainerInfo, NetworkInfo, Volume } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { ContainerSettings } from '../../platform/settings/container-settings.js';
import { isSwitch, optionName } from '../../platform/settings/engine-options.js';
import { DeployFault } from '../artifacts/order.js';
import { quotaPeriodMicros } from '../cgroups/group-files.js';
import { bytesOfMb } from '../../platform/files.js';
import { commandLine, type Option } from '../processes/command-line.js';
import type { RunAs } from '../processes/run-as.js';
import type { Sandbox } from '../sandbox/sandbox-layout.js';
import type { Engine } from './engine.js';
import { imageOfSpec } from './images.js';
import { networkKind } from './rules.js';

/** Facts that a container is created from, beside its deploy. */
export interface ContainerPlan {
  engine: Engine;
  settings: ContainerSettings;
  spec: LaunchSpec & { container: ContainerInfo };
  sandbox: Sandbox;
  name: string;
  /** By which an agent knows the containers of its directory. */
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

/** Options of the agent first, those of the deploy after them, then the image and its words, which are options of nothing. */
export function createWords(plan: ContainerPlan): string[] {
  const { spec, settings, name, agentKey, envFile, sandbox } = plan;
  const { container } = spec;
  const parameters = parametersOf(container);
  const { entrypoint, words } = command(plan, parameters);
  const options: Option[] = [
    ...limits(plan),
    ...rights(plan, parameters),
    mount({ type: 'bind', source: sandbox.executor?.directory ?? sandbox.root, destination: settings.sandboxPath }),
    ...workingDirectory(plan, parameters),
    ...networkOptions(plan),
    ...(container.volumes ?? []).map((volume, index) => volumeOption(volume, plan.hostPaths[index])),
    ...parameters,
    ...entrypoint,
  ];
  return [
    'create',
    ...commandLine([
      ['name', name],
      ['label', `${agentLabel}=${agentKey}`],
      ['label', `muster.task=${spec.taskId}`],
      // What it writes goes to the files of the task, and nowhere else.
      ['log-driver', 'none'],
      ['pull', 'never'],
      ['env-file', envFile],
      ...withoutProxies(plan),
    ]),
    ...settings.createArguments,
    ...commandLine(options, [imageOfSpec(spec) ?? '', ...words]),
  ];
}

/** Both forms in which deploys say them, by the long names of the options. A switch without a value is on. */
const parametersOf = ({ docker }: ContainerInfo): (readonly [string, string])[] =>
  [
    ...Object.entries(docker?.parameters ?? {}),
    ...(docker?.dockerParameters ?? []).map(({ key = '', value = '' }) => [key, value] as const),
  ].map(([key, value]) => [optionName(key), isSwitch(key) && value === '' ? 'true' : (value ?? '')]);

type Parameters = ReturnType<typeof parametersOf>;

const has = (parameters: Parameters, name: string): boolean => parameters.some(([given]) => given === name);

const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY'];

/** Engines give containers, without being asked, the variables that lead their own pulls. */
function withoutProxies({ engine, spec }: ContainerPlan): Option[] {
  if (engine.kind === 'podman') return [['http-proxy', 'false']];
  // Docker's program takes them from its own settings, unless they are said.
  return proxies
    .flatMap((name) => [name, name.toLowerCase()])
    .filter((name) => spec.environment[name] === undefined)
    .map((name) => ['env', `${name}=`]);
}

function limits({ spec, maxProcesses }: ContainerPlan): Option[] {
  const { cpus, memoryMb, cpuHardLimit, executorData } = spec;
  const files = executorData?.maxOpenFiles;
  const options: (Option | false)[] = [
    ['pids-limit', maxProcesses],
    cpus > 0 && ['cpu-shares', Math.min(262_144, Math.max(2, Math.round(cpus * 1024)))],
    memoryMb > 0 && ['memory', `${bytesOfMb(memoryMb)}b`],
    cpuHardLimit !== undefined && ['cpu-period', quotaPeriodMicros],
    cpuHardLimit !== undefined && ['cpu-quota', Math.round(cpuHardLimit * quotaPeriodMicros)],
    files !== undefined && ['ulimit', `nofile=${files}:${files}`],
  ];
  return options.filter((option) => option !== false);
}

function rights({ spec, settings, runAs, engine }: ContainerPlan, parameters: Parameters): Option[] {
  // The operator allows it: it is as much as root of the machine, whatever else is said.
  if (spec.container.docker?.privileged) return [['privileged', true]];
  const noMore: Option = ['security-opt', 'no-new-privileges'];
  const user = containerUser(settings, runAs, engine);
  if (user === undefined || has(parameters, 'user')) return [noMore];
  return [noMore, ['cap-drop', 'all'], ['user', user]];
}

/** True when a container may have other users than its task, by its image or its deploy. */
export const hasOtherUsers = (container: ContainerInfo, { runAs }: ContainerSettings): boolean =>
  runAs === 'IMAGE_USER' || container.docker?.privileged === true || has(parametersOf(container), 'user');

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

function workingDirectory({ sandbox, settings }: ContainerPlan, parameters: Parameters): Option[] {
  return sandbox.executor && !has(parameters, 'workdir') ? [['workdir', `${settings.sandboxPath}/app`]] : [];
}

/** Working directory of a deploy inside of its sandbox, as a path below the mounted directory; undefined: elsewhere. */
export function workdirInSandbox(container: ContainerInfo, sandboxPath: string): string | undefined {
  const [, path] = parametersOf(container).findLast(([name]) => name === 'workdir') ?? [];
  const place = path === undefined ? '' : posix.normalize(path);
  return place.startsWith(`${sandboxPath}/`) ? place.slice(sandboxPath.length + 1) : undefined;
}

function networkOptions({ spec }: ContainerPlan): Option[] {
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
    ({ hostPort, containerPort, protocol = 'tcp' }) => `${hostPort}:${containerPort}/${protocol}`,
  );
  return [
    ...networks.map((network): Option => ['network', network]),
    ...[...new Set(published)].map((ports): Option => ['publish', ports]),
  ];
}

const portsOf = ({ portMappings = [] }: NetworkInfo) => portMappings;

function volumeOption({ containerPath = '', mode, source }: Volume, hostPath: string | undefined): Option {
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

function mount({ type, source, destination, isReadOnly = false, more = [] }: Mount): Option {
  // The rules let no such path come here; should the sandbox lie in one, it would be another mount.
  if (/[,"\n]/.test(source + destination)) throw new DeployFault('A mounted path must have no comma and no quote');
  const parts = [
    `type=${type}`,
    `source=${source}`,
    `destination=${destination}`,
    ...(isReadOnly ? ['readonly'] : []),
    ...more,
  ];
  return ['mount', parts.join(',')];
}

/** Command to run in the image. */
function command({ spec }: ContainerPlan, parameters: Parameters): { entrypoint: Option[]; words: string[] } {
  const { shell, value, arguments: words } = spec.command;
  // As in tasks without a container it is a line for a shell. Shells become the command of a line that is one command.
  if (spec.executorData) return { entrypoint: [], words: ['/bin/sh', '-c', '--', [value, ...words].join(' ')] };
  if (!shell) return { entrypoint: [], words: [...(value === '' ? [] : [value]), ...words] };
  const line = ['-c', value, 'sh', ...words];
  return has(parameters, 'entrypoint')
    ? { entrypoint: [], words: ['/bin/sh', ...line] }
    : { entrypoint: [['entrypoint', '/bin/sh']], words: line };
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
    HOST_SANDBOX_DIR: sandbox.executor?.directory ?? sandbox.root,
    ...(Object.fromEntries(inherited) as Record<string, string>),
  };
}
