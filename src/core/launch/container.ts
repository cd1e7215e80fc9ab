import type { ContainerInfo, ContainerPortMapping, DockerInfo, NetworkInfo, PortMapping } from '../model/deploy.js';
import type { TaskId } from '../model/task.js';
import { type LaunchPlace, placeholders } from './placeholders.js';

/** The container with the paths and names of one task. */
export function containerOfTask(
  { taskId, place }: { taskId: TaskId; place: LaunchPlace },
  container: ContainerInfo,
): ContainerInfo {
  const fill = placeholders(taskId, place);
  const numbered = (name: string | undefined): string | undefined => name?.replaceAll('%i', String(taskId.instanceNo));
  return {
    ...container,
    volumes: container.volumes?.map((volume) => ({
      ...volume,
      containerPath: volume.containerPath && fill(volume.containerPath),
      hostPath: volume.hostPath && fill(volume.hostPath),
      mode: volume.mode ?? 'RO',
      source: volume.source && {
        ...volume.source,
        ...(volume.source.name !== undefined && { name: numbered(volume.source.name) }),
        dockerVolume: volume.source.dockerVolume && {
          ...volume.source.dockerVolume,
          name: numbered(volume.source.dockerVolume.name),
        },
      },
    })),
  };
}

/** Fills the numbers of its ports into a container. `ports`: those assigned to the task. */
export const withPorts = (
  container: ContainerInfo,
  ports: readonly number[],
  mapsByDefault = false,
): ContainerInfo => ({
  ...container,
  docker: container.docker && {
    ...container.docker,
    portMappings: dockerPorts(container.docker, ports, mapsByDefault),
  },
  networkInfos: container.networkInfos?.map((network) => ({ ...network, portMappings: networkPorts(network, ports) })),
});

function dockerPorts(
  { network, portMappings = [] }: DockerInfo,
  ports: readonly number[],
  mapsByDefault: boolean,
): ContainerPortMapping[] {
  const literal = (mapping: PortMapping): ContainerPortMapping => ({
    ...mapping,
    containerPortType: 'LITERAL',
    hostPortType: 'LITERAL',
  });
  if (portMappings.length === 0 && mapsByDefault && network === 'BRIDGE')
    return ports.map((port) => literal({ hostPort: port, containerPort: port, protocol: 'tcp' }));
  // Without assigned ports there is nothing to map to.
  if (ports.length === 0 && portMappings.some(({ hostPortType }) => hostPortType === 'FROM_OFFER')) return [];
  const number = (type: ContainerPortMapping['hostPortType'], port: number) =>
    type === 'FROM_OFFER' ? (ports[port] ?? port) : port;
  return portMappings.map(({ containerPortType, containerPort, hostPortType, hostPort, protocol = 'tcp' }) =>
    literal({
      hostPort: number(hostPortType, hostPort),
      containerPort: number(containerPortType, containerPort),
      protocol,
    }),
  );
}

/** A number below that of the assigned ports is one of them, any other is the port itself. */
function networkPorts({ portMappings = [] }: NetworkInfo, ports: readonly number[]): PortMapping[] {
  if (portMappings.length === 0)
    return ports.flatMap((port) =>
      ['tcp', 'udp'].map((protocol) => ({ hostPort: port, containerPort: port, protocol })),
    );
  return portMappings.map(({ hostPort, containerPort, protocol = 'tcp' }) => ({
    hostPort: ports[hostPort] ?? hostPort,
    containerPort: ports[containerPort] ?? containerPort,
    protocol,
  }));
}

/** Ports of the machine that the container names itself; the task gets them beside those that are assigned to it. */
export function literalHostPorts(
  { docker, networkInfos = [] }: Pick<ContainerInfo, 'docker' | 'networkInfos'>,
  numPorts: number,
): number[] {
  const ofDocker = (docker?.portMappings ?? [])
    .filter((mapping) => (mapping.hostPortType ?? 'LITERAL') === 'LITERAL')
    .map((mapping) => mapping.hostPort);
  const ofNetworks = networkInfos.flatMap(({ portMappings = [] }) =>
    portMappings.map(({ hostPort }) => hostPort).filter((port) => port >= numPorts),
  );
  return [...new Set([...ofDocker, ...ofNetworks])];
}
