import { posix } from 'node:path';
import {
  type ContainerInfo,
  type DockerInfo,
  type DockerParameter,
  imageOf,
  isClusterObject,
  type NetworkInfo,
  type PortMapping,
  type Volume,
} from '../../core/model/deploy.js';
import type { ContainerSettings } from '../../platform/settings/container-settings.js';
import {
  harmlessParameters,
  isReservedParameter,
  isSwitch,
  optionName,
} from '../../platform/settings/engine-options.js';
import { type UnsupportedField } from '../wire/unsupported.js';
import { isBelow } from '../../core/files/paths.js';

/** Settings of the operator for the containers of deploys. */
export type ContainerPolicy = Pick<
  ContainerSettings,
  | 'runAs'
  | 'allowPrivileged'
  | 'allowedNetworks'
  | 'allowedHostPaths'
  | 'allowedVolumes'
  | 'allowedVolumeDrivers'
  | 'allowedParameters'
> & {
  /** The key of the settings in which all this stands. Default: that of the local driver. */
  section?: string;
  /** Volumes may show no part of an allowed directory, whoever containers are. */
  wholeDirectories?: boolean;
};

/** True when a container may be root, or have rights that only root has. */
export const mayBeRoot = ({
  runAs,
  allowPrivileged,
  allowedParameters,
}: Pick<ContainerPolicy, 'runAs' | 'allowPrivileged' | 'allowedParameters'>): boolean =>
  runAs === 'IMAGE_USER' || allowPrivileged || allowedParameters.some((key) => !harmlessParameters.includes(key));

const setting = (name: keyof ContainerSettings, { section = 'cluster.local.containers' }: { section?: string }) =>
  `the setting ${section}.${name}`;

/**
 * Everything in a container of a deploy that cannot be had here: what is no name, number or path of its kind, and what the
 * operator does not allow. Asked of a deploy, and again of the launch with its placeholders filled.
 */
export function containerProblems(
  info: ContainerInfo,
  { isManaged, policy }: { isManaged: boolean; policy: ContainerPolicy },
): UnsupportedField[] {
  const { docker, volumes = [], networkInfos = [] } = info;
  return [
    ...imageProblems(info),
    ...kindProblems(info, isManaged, policy),
    ...(docker ? dockerProblems(docker, policy) : []),
    ...volumes.flatMap((volume, index) => volumeProblems(volume, `volumes[${index}]`, policy)),
    ...networkInfos.flatMap((network, index) => networkProblems(network, `networkInfos[${index}]`, policy)),
  ].map(({ field, message }) => ({ field: field === '' ? 'containerInfo' : `containerInfo.${field}`, message }));
}

/** As registries have them: domain with port, path, tag, digest. Nothing in it is a blank, and it never begins with a dash. */
const imageName =
  /^(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?\/)?[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)*(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/;
const longestImageName = 500;

/** With these before the colon podman reads images from files of the machine, or asks another engine; the last begins a number. */
const transports = new Set(
  'docker docker-archive docker-daemon dir oci oci-archive containers-storage sif tarball ostree atomic sha256'.split(
    ' ',
  ),
);

function imageProblems(info: ContainerInfo): UnsupportedField[] {
  const field = info.docker || info.type === 'DOCKER' ? 'docker.image' : 'cluster.image';
  if (info.cluster?.image?.type === 'APPC')
    return [{ field: 'cluster.image.type', message: 'must be DOCKER: no engine of today runs APPC images' }];
  const image = imageOf(info);
  if (info.docker && info.cluster?.image)
    return [
      { field: 'cluster.image', message: 'must not be given together with docker, which has an image of its own' },
    ];
  if (!image) return [{ field, message: 'must be given: what has volumes or networks of its own runs in an image' }];
  const isName = image.name.length <= longestImageName && imageName.test(image.name);
  return isName && !transports.has(image.name.split(':')[0]!.toLowerCase())
    ? []
    : [{ field: info.docker ? field : `${field}.docker.name`, message: 'must be the name of an image in a registry' }];
}

function dockerProblems(docker: DockerInfo, policy: ContainerPolicy): UnsupportedField[] {
  const problems: UnsupportedField[] = [];
  if (docker.privileged && !policy.allowPrivileged)
    problems.push({
      field: 'docker.privileged',
      message: `must not be true unless ${setting('allowPrivileged', policy)} is`,
    });
  const parameters = Object.entries(docker.parameters ?? {}).map(([key, value]) => ({
    key,
    value,
    in: `parameters.${key}`,
  }));
  const listed = (docker.dockerParameters ?? []).map((each, index) => ({ ...each, in: `dockerParameters[${index}]` }));
  return [
    ...problems,
    ...(docker.portMappings ?? []).flatMap((mapping, index) =>
      portProblems(mapping, `docker.portMappings[${index}]`, (port) =>
        port === 'hostPort' ? mapping.hostPortType === 'FROM_OFFER' : mapping.containerPortType === 'FROM_OFFER',
      ),
    ),
    ...[...parameters, ...listed].flatMap((parameter) =>
      parameterProblems(parameter, `docker.${parameter.in}`, policy),
    ),
  ];
}

function kindProblems(info: ContainerInfo, isManaged: boolean, policy: ContainerPolicy): UnsupportedField[] {
  const kind = networkKind(info, isManaged);
  if (!kind || policy.allowedNetworks.includes(kind)) return [];
  const unsaid = info.docker?.network === undefined ? `is ${kind} where it is absent, which` : `is ${kind}, which`;
  return [{ field: 'docker.network', message: `${unsaid} ${setting('allowedNetworks', policy)} does not name` }];
}

/** Kind of network that a container gets; undefined: those that it names. An executor in Docker has the machine's own. */
export function networkKind(
  { docker, networkInfos = [] }: Pick<ContainerInfo, 'docker' | 'networkInfos'>,
  isManaged: boolean,
): 'BRIDGE' | 'HOST' | 'NONE' | undefined {
  const network = docker?.network;
  const isNamed = networkInfos.some(({ name }) => name !== undefined);
  if (isNamed && (network === undefined || network === 'BRIDGE')) return undefined;
  return network ?? (docker && isManaged ? 'HOST' : 'BRIDGE');
}

const largestPort = 65_535;
const protocols = ['tcp', 'udp', 'sctp'];

function portProblems(
  mapping: PortMapping,
  field: string,
  isIndex: (member: 'hostPort' | 'containerPort') => boolean,
): UnsupportedField[] {
  const problems: UnsupportedField[] = [];
  for (const member of ['containerPort', 'hostPort'] as const) {
    const port = mapping[member];
    const least = isIndex(member) ? 0 : 1;
    if (!Number.isInteger(port) || port < least || port > largestPort)
      problems.push({ field: `${field}.${member}`, message: `must be from ${least} to ${largestPort}` });
  }
  if (mapping.protocol !== undefined && !protocols.includes(mapping.protocol))
    problems.push({ field: `${field}.protocol`, message: `must be one of ${protocols.join(', ')}` });
  return problems;
}

const parameterKey = /^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/;
const longestValue = 4_096;

function parameterProblems(
  { key = '', value = '' }: DockerParameter,
  field: string,
  policy: ContainerPolicy,
): UnsupportedField[] {
  if (!parameterKey.test(key))
    return [{ field: `${field}.key`, message: 'must be an option without the dashes before it' }];
  if (isReservedParameter(key))
    return [{ field, message: `sets '${key}', which has a field of its own or is the agent's to set` }];
  if (!policy.allowedParameters.some((allowed) => optionName(allowed) === optionName(key)))
    return [{ field, message: `sets '${key}', which ${setting('allowedParameters', policy)} does not name` }];
  if (value.length > longestValue || value.includes('\0'))
    return [{ field, message: `must have a value of at most ${longestValue} characters, without NUL` }];
  if (isSwitch(key) && !['', 'true', 'false'].includes(value))
    return [{ field, message: `sets '${key}', which takes 'true', 'false' or nothing` }];
  // To run an image without what it starts by itself is the one thing that an empty value says.
  if (!isSwitch(key) && value === '' && optionName(key) !== 'entrypoint')
    return [{ field, message: `sets '${key}', which needs a value` }];
  return [];
}

/** A comma or a quote would begin another option of the mount. */
const plainPath = /^\/[^\p{Cc},"]*$/u;
const longestPath = 4_096;

function volumeProblems(volume: Volume, field: string, policy: ContainerPolicy): UnsupportedField[] {
  const { containerPath = '', hostPath, source } = volume;
  const problems: UnsupportedField[] = [];
  if (!isPlainPath(containerPath) || containerPath === '/')
    problems.push({
      field: `${field}.containerPath`,
      message: "must be an absolute path without '..', commas and quotes",
    });
  if (isClusterObject(source))
    return [
      ...problems,
      { field: `${field}.source.type`, message: 'must not be given: only a Kubernetes has such objects' },
    ];
  if (source?.type === 'DOCKER_VOLUME' || source?.dockerVolume) {
    if (hostPath !== undefined)
      problems.push({ field: `${field}.hostPath`, message: 'must not be given with a source of its own' });
    return [...problems, ...sourceProblems(source, `${field}.source.dockerVolume`, policy)];
  }
  const path = hostPath ?? containerPath;
  const name = hostPath === undefined ? `${field}.containerPath` : `${field}.hostPath`;
  if (hostPath !== undefined && !isPlainPath(hostPath))
    problems.push({ field: name, message: "must be an absolute path without '..', commas and quotes" });
  const refusal = refusedHostPath(path, { ...policy, wholeDirectories: policy.wholeDirectories ?? mayBeRoot(policy) });
  return refusal === undefined ? problems : [...problems, { field: name, message: refusal }];
}

const isPlainPath = (path: string): boolean =>
  path.length <= longestPath && plainPath.test(path) && !path.split('/').includes('..');

/** Sockets by which engines are told what to run, as root. */
const sockets = [
  '/run/docker.sock',
  '/var/run/docker.sock',
  '/run/podman/podman.sock',
  '/var/run/podman/podman.sock',
  '/run/containerd/containerd.sock',
  '/var/run/containerd/containerd.sock',
  '/run/crio/crio.sock',
  '/var/run/crio/crio.sock',
];

/** Reason why no volume may show this path of the machine; undefined: one may. `closed`: further paths that none may. */
export function refusedHostPath(
  path: string,
  policy: Pick<ContainerPolicy, 'allowedHostPaths' | 'section' | 'wholeDirectories'>,
  closed: readonly string[] = [],
): string | undefined {
  const place = withoutEnd(posix.normalize(path));
  const isWithin = (inner: string, outer: string) => inner === outer || isBelow(inner, outer);
  const around = policy.allowedHostPaths
    .map((directory) => withoutEnd(posix.normalize(directory)))
    .filter((directory) => isWithin(place, directory));
  if (around.length === 0) return `must lie in a folder that ${setting('allowedHostPaths', policy)} names`;
  // What is in a directory that a container can write to as its owner may be a link in the next moment.
  if (policy.wholeDirectories && around.some((directory) => directory !== place))
    return `must be a whole folder of ${setting('allowedHostPaths', policy)}, which lies in no other of them`;
  if (
    sockets.some((socket) => isWithin(socket, place)) ||
    closed.some((own) => isWithin(own, place) || isWithin(place, own))
  )
    return 'must not show the socket of an engine, or what belongs to the agent';
  return undefined;
}

const withoutEnd = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);

const volumeName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$/;
const driverName = /^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}$/;
const optionText = /^[^\p{Cc},"]{0,1000}$/u;

function sourceProblems(
  source: NonNullable<Volume['source']>,
  field: string,
  policy: ContainerPolicy,
): UnsupportedField[] {
  // The driver and name of a volume are handed to the engine as parts of one option.
  const { driver, name = '', driverOptions = {} } = source.dockerVolume ?? {};
  const given = name.replaceAll('%i', '1');
  if (!volumeName.test(given)) return [{ field: `${field}.name`, message: 'must be the name of a volume' }];
  const problems: UnsupportedField[] = [];
  if (!policy.allowedVolumes.some((allowed) => matches(given, allowed) || matches(name, allowed)))
    problems.push({ field: `${field}.name`, message: `is none that ${setting('allowedVolumes', policy)} names` });
  const hasOptions = Object.keys(driverOptions).length > 0;
  const isPlain = (driver === undefined || driver === 'local') && !hasOptions;
  if (driver !== undefined && !driverName.test(driver))
    problems.push({ field: `${field}.driver`, message: 'must be the name of a driver' });
  else if (!isPlain && !policy.allowedVolumeDrivers.includes(driver ?? 'local'))
    problems.push({
      field: hasOptions ? `${field}.driverOptions` : `${field}.driver`,
      message: `must not be given unless ${setting('allowedVolumeDrivers', policy)} names '${driver ?? 'local'}'`,
    });
  for (const [key, value] of Object.entries(driverOptions))
    if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(key) || !optionText.test(value))
      problems.push({
        field: `${field}.driverOptions.${key}`,
        message: 'must have a name of letters and a value without commas and quotes',
      });
  return problems;
}

const matches = (name: string, allowed: string): boolean =>
  allowed.endsWith('*') ? name.startsWith(allowed.slice(0, -1)) : name === allowed;

/** Kinds of networks as engines write them, some of which are those of the machine or of another container. */
const kinds = new Set('host none bridge private default nat slirp4netns pasta container ns pod'.split(' '));
const networkName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;

function networkProblems(network: NetworkInfo, field: string, policy: ContainerPolicy): UnsupportedField[] {
  const { name, groups = [], portMappings = [] } = network;
  const problems: UnsupportedField[] = [];
  if (name !== undefined) {
    if (!networkName.test(name) || kinds.has(name))
      problems.push({ field: `${field}.name`, message: 'must be the name of a network; docker.network has its kinds' });
    else if (!policy.allowedNetworks.includes(name))
      problems.push({ field: `${field}.name`, message: `is none that ${setting('allowedNetworks', policy)} names` });
  }
  if (groups.length > 0)
    problems.push({ field: `${field}.groups`, message: 'must be empty: engines know no groups of networks' });
  return [
    ...problems,
    ...portMappings.flatMap((mapping, index) => portProblems(mapping, `${field}.portMappings[${index}]`, () => true)),
  ];
}
