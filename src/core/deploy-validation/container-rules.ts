import type { FieldError } from '../field-error.js';
import type { ContainerPortMapping } from '../model/deploy.js';
import { problem, type DeployRule } from './context.js';

export const containerRule: DeployRule = ({ containerInfo, resources }, { settings }) => {
  if (!containerInfo) return [];
  const { docker } = containerInfo;
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
    ...(docker?.image ? registryProblems(docker.image, settings.validDockerRegistries) : []),
    ...(docker?.portMappings ?? []).flatMap((mapping, index) => portProblems(mapping, index, resources?.numPorts ?? 0)),
  ];
};

function registryProblems(image: string, allowed: readonly string[]): FieldError[] {
  if (allowed.length === 0) return [];
  const [registry = ''] = image.includes('/') ? image.split('/') : [];
  return problem(
    !allowed.includes(registry),
    'containerInfo.docker.image',
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
