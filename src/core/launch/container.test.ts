import { describe, expect, test } from 'vitest';
import type { ContainerPortMapping, DockerInfo, NetworkInfo } from '../model/deploy.js';
import { literalHostPorts, withPorts } from './container.js';

const ports = [31_005, 31_009];
const docker = (changes: Partial<DockerInfo>): DockerInfo => ({ image: 'app', privileged: false, ...changes });
const mapped = (changes: Partial<DockerInfo>, given: readonly number[] = ports, byDefault = false) =>
  withPorts({ type: 'DOCKER', docker: docker(changes) }, given, byDefault).docker!.portMappings!.map(
    ({ hostPort, containerPort, protocol }) => `${hostPort}:${containerPort}/${protocol}`,
  );
const mapping = (changes: Partial<ContainerPortMapping>): ContainerPortMapping => ({
  containerPort: 80,
  hostPort: 0,
  hostPortType: 'FROM_OFFER',
  ...changes,
});

describe('port mappings', () => {
  test('a literal number is itself, one from the offer is the assigned port of that index', () =>
    expect(
      mapped({
        portMappings: [
          mapping({ hostPort: 1 }),
          mapping({ containerPortType: 'FROM_OFFER', containerPort: 0 }),
          mapping({ hostPortType: 'LITERAL', hostPort: 8_080, protocol: 'udp' }),
        ],
      }),
    ).toEqual(['31009:80/tcp', '31005:31005/tcp', '8080:80/udp']));

  test('without assigned ports only literal ones are mapped', () => {
    expect(mapped({ portMappings: [mapping({}), mapping({ hostPortType: 'LITERAL', hostPort: 8_080 })] }, [])).toEqual(
      [],
    );
    expect(mapped({ portMappings: [mapping({ hostPortType: 'LITERAL', hostPort: 8_080 })] }, [])).toEqual([
      '8080:80/tcp',
    ]);
  });

  test('network.defaultPortMapping maps each port of a bridge without mappings to itself', () => {
    expect(mapped({ network: 'BRIDGE' }, ports, true)).toEqual(['31005:31005/tcp', '31009:31009/tcp']);
    expect(mapped({ network: 'BRIDGE' }, ports)).toEqual([]);
    expect(mapped({ network: 'HOST' }, ports, true)).toEqual([]);
    expect(mapped({ network: 'BRIDGE', portMappings: [mapping({})] }, ports, true)).toEqual(['31005:80/tcp']);
  });

  test('in networks a number below that of the ports is one of them; none given: each for tcp and udp', () => {
    const of = (network: NetworkInfo) =>
      withPorts({ type: 'DOCKER', networkInfos: [network] }, ports).networkInfos![0]!.portMappings;
    expect(of({ portMappings: [{ hostPort: 1, containerPort: 80 }] })).toEqual([
      { hostPort: 31_009, containerPort: 80, protocol: 'tcp' },
    ]);
    expect(of({})?.map(({ hostPort, protocol }) => `${hostPort}/${protocol}`)).toEqual([
      '31005/tcp',
      '31005/udp',
      '31009/tcp',
      '31009/udp',
    ]);
  });
});

test('literal ports of the machine are claimed beside the assigned ones, each once', () => {
  const literal = mapping({ hostPortType: 'LITERAL', hostPort: 8_080 });
  const networkInfos = [
    {
      portMappings: [
        { hostPort: 1, containerPort: 1 },
        { hostPort: 9_000, containerPort: 1 },
      ],
    },
  ];
  expect(
    literalHostPorts({ docker: docker({ portMappings: [literal, literal, mapping({})] }), networkInfos }, 2),
  ).toEqual([8_080, 9_000]);
});
