import { type DeployRule, problem, type ResourceLimits } from './context.js';
import type { FieldError } from '../field-error.js';
import type { ContainerPortMapping, Resources } from '../model/deploy.js';
import { sidecarResources } from '../model/deploy-tasks.js';
import { instancesOf } from '../model/request.js';

interface Kind {
  member: 'cpus' | 'memoryMb' | 'diskMb';
  unit: string;
  byDefault: keyof ResourceLimits;
  perInstance: keyof ResourceLimits;
  perRequest: keyof ResourceLimits;
  mayBeZero: boolean;
}

const kinds: readonly Kind[] = [
  {
    member: 'cpus',
    unit: 'cores',
    byDefault: 'defaultCpus',
    perInstance: 'maxNumCpusPerInstance',
    perRequest: 'maxNumCpusPerRequest',
    mayBeZero: false,
  },
  {
    member: 'memoryMb',
    unit: 'MB',
    byDefault: 'defaultMemory',
    perInstance: 'maxMemoryMbPerInstance',
    perRequest: 'maxMemoryMbPerRequest',
    mayBeZero: false,
  },
  {
    member: 'diskMb',
    unit: 'MB',
    byDefault: 'defaultDisk',
    perInstance: 'maxDiskMbPerInstance',
    perRequest: 'maxDiskMbPerRequest',
    mayBeZero: true,
  },
];

/**
 * Limits of the resources for one instance and for all of them together. `field`: dotted path of the resources, for the
 * messages; `sidecars`: what they add. Also asked again when a request with a deploy changes its number of instances.
 */
export function resourceProblems(
  resources: Resources | undefined,
  instances: number,
  limits: ResourceLimits,
  field: string,
  sidecars: Resources = {},
): FieldError[] {
  return kinds.flatMap((kind) => {
    const own = resources ? (resources[kind.member] ?? 0) : limits[kind.byDefault];
    const wanted = own + (sidecars[kind.member] ?? 0);
    const path = `${field}.${kind.member}`;
    const broken = (rule: string, message: string): FieldError[] => [
      { field: path, rule, message: `${path} ${message}` },
    ];
    if (own < 0 || (own === 0 && !kind.mayBeZero)) return broken('min', 'must be greater than 0');
    const together = wanted > own ? 'with those of its sidecars ' : '';
    if (wanted > limits[kind.perInstance]) {
      return broken(
        'max',
        `${together}must be at most ${limits[kind.perInstance]} ${kind.unit} per instance (cluster.${kind.perInstance}), not ${wanted}`,
      );
    }
    if (wanted * instances > limits[kind.perRequest]) {
      return broken(
        'max',
        `${together}of ${instances} instances must be at most ${limits[kind.perRequest]} ${kind.unit} together (cluster.${kind.perRequest}), not ${wanted * instances}`,
      );
    }
    return [];
  });
}

export const resourceRule: DeployRule = ({ resources, customExecutorResources, tasks }, { request, settings }) => [
  ...resourceProblems(resources, instancesOf(request), settings.cluster, 'deploy.resources', sidecarResources(tasks)),
  ...problem(
    customExecutorResources?.extended !== undefined,
    'customExecutorResources.extended',
    'supported',
    'must not be given: resources has them for task and executor',
  ),
];

export const containerRule: DeployRule = ({ containerInfo, resources }, { settings }) => {
  if (!containerInfo) return [];
  const { docker, cluster } = containerInfo;
  return [
    ...(containerInfo.volumes ?? []).flatMap((volume, index) =>
      problem(!volume.containerPath, `containerInfo.volumes.${index}.containerPath`, 'required', 'is required'),
    ),
    ...problem(
      containerInfo.type === 'DOCKER' && !docker,
      'containerInfo.docker',
      'required',
      'is required for type DOCKER',
    ),
    ...(docker ? problem(!docker.image, 'containerInfo.docker.image', 'required', 'is required') : []),
    // Both members that name an image, whichever is used.
    ...registryProblems('docker.image', docker?.image, settings.validDockerRegistries),
    ...registryProblems('cluster.image.docker.name', cluster?.image?.docker?.name, settings.validDockerRegistries),
    ...(docker?.portMappings ?? []).flatMap((mapping, index) => portProblems(mapping, index, resources?.numPorts ?? 0)),
  ];
};

function registryProblems(field: string, image: string | undefined, allowed: readonly string[]): FieldError[] {
  if (!image || allowed.length === 0) return [];
  const [registry = ''] = image.includes('/') ? image.split('/') : [];
  return problem(
    !allowed.includes(registry),
    `containerInfo.${field}`,
    'registry',
    `must come from one of the registries ${allowed.join(', ')}`,
  );
}

/** A port "from the offer" is a number of one of the task's ports, counted from 0. */
function portProblems(mapping: ContainerPortMapping, index: number, numPorts: number): FieldError[] {
  const field = `containerInfo.docker.portMappings.${index}`;
  const outside = (type: string | undefined, port: number) => type === 'FROM_OFFER' && (port < 0 || port >= numPorts);
  const message = `must be below resources.numPorts, which is ${numPorts}`;
  return [
    ...problem(outside(mapping.containerPortType, mapping.containerPort), `${field}.containerPort`, 'range', message),
    ...problem(outside(mapping.hostPortType, mapping.hostPort), `${field}.hostPort`, 'range', message),
  ];
}
