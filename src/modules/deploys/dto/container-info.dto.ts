import { Transform } from 'class-transformer';
import { IsBoolean, IsOptional } from 'class-validator';
import { type ClusterObjectKind, clusterObjectKinds } from '../../../core/model/enums.js';
import type { ContainerInfo, SecretVariable } from '../../../core/model/deploy.js';
import { Int32, MayBeLeftOut, Nested, NestedList, OneOf, TextMap, Texts, Text } from '../../../platform/http/fields.js';
import { Since } from '../../../platform/http/since.js';

/** Driver and name of a volume that Docker manages. */
export class DockerVolumeDto {
  /** Driver of the volume. Default: that of the engine. */
  @IsOptional()
  @Text('name')
  driver?: string;
  /** Name of the volume. */
  @IsOptional()
  @Text('name')
  name?: string;
  /** Options of the driver. */
  @IsOptional()
  @TextMap()
  driverOptions?: Record<string, string>;
}

/** Source of a volume other than a directory of the machine. */
export class VolumeSourceDto {
  /**
   * Kind of source. PERSISTENT_VOLUME_CLAIM, CONFIG_MAP and SECRET are objects in the namespace of tasks, on Kubernetes, which
   * settings allow by name.
   */
  @IsOptional()
  @OneOf(['UNKNOWN', 'DOCKER_VOLUME', ...clusterObjectKinds])
  type?: 'UNKNOWN' | 'DOCKER_VOLUME' | ClusterObjectKind;
  /** The Docker volume, for that kind. */
  @IsOptional()
  @Nested(() => DockerVolumeDto)
  dockerVolume?: DockerVolumeDto;
  /** Name of the claim, config map or secret; in that of a claim %i is the number of the instance. */
  @Since('muster')
  @IsOptional()
  @Text('name')
  name?: string;
}

/** An environment variable with one value of a secret. */
export class SecretVariableDto implements SecretVariable {
  /** Name of the variable. */
  @Text('name')
  name: string;
  /** Name of the secret. */
  @Text('name')
  secret: string;
  /** Key of the value in the secret. */
  @Text('name')
  key: string;
}

/** A folder the container sees. */
export class VolumeDto {
  /** Path inside the container. */
  @IsOptional()
  @Text('path')
  containerPath?: string;
  /** Path on the machine. */
  @IsOptional()
  @Text('path')
  hostPath?: string;
  /** Read-only or read-write. */
  @IsOptional()
  @OneOf(['RO', 'RW'])
  mode?: 'RO' | 'RW';
  /** Source other than a path of the machine. */
  @IsOptional()
  @Nested(() => VolumeSourceDto)
  source?: VolumeSourceDto;
}

/** One port of a Docker container on its machine. FROM_OFFER ports are numbers of the task's ports, from 0. */
export class ContainerPortMappingDto {
  /** Meaning of containerPort. Default: LITERAL. */
  @IsOptional()
  @OneOf(['LITERAL', 'FROM_OFFER'])
  containerPortType?: 'LITERAL' | 'FROM_OFFER';
  /** Port inside the container. */
  @Int32({ max: 65_535 })
  containerPort: number;
  /** Meaning of hostPort. Default: LITERAL. */
  @IsOptional()
  @OneOf(['LITERAL', 'FROM_OFFER'])
  hostPortType?: 'LITERAL' | 'FROM_OFFER';
  /** Port on the machine. */
  @Int32({ max: 65_535 })
  hostPort: number;
  /** Protocol: tcp or udp. Default: tcp. */
  @IsOptional()
  @Text('name')
  protocol?: string;
}

/** One option for starting the container. */
export class DockerParameterDto {
  /** Name of the option. */
  @IsOptional()
  @Text('name')
  key?: string;
  /** Value of the option. */
  @IsOptional()
  @Text('command')
  value?: string;
}

/** Container that Docker is to start. */
export class DockerInfoDto {
  /** Image to run. */
  @Text('name')
  image: string;
  /** Give the container all rights of the machine. Default: false. */
  @MayBeLeftOut()
  @IsBoolean()
  privileged: boolean;
  /** Kind of network. */
  @IsOptional()
  @OneOf(['BRIDGE', 'HOST', 'NONE'])
  network?: 'BRIDGE' | 'HOST' | 'NONE';
  /** Ports of the container on its machine. */
  @IsOptional()
  @NestedList(() => ContainerPortMappingDto)
  portMappings?: ContainerPortMappingDto[];
  /** Pull the image even if the machine has it. */
  @IsOptional()
  @IsBoolean()
  forcePullImage?: boolean;
  /** Options for starting the container, older form. */
  @IsOptional()
  @TextMap()
  parameters?: Record<string, string>;
  /** Options for starting the container. */
  @IsOptional()
  @NestedList(() => DockerParameterDto)
  dockerParameters?: DockerParameterDto[];
}

/** An image in the APPC format. */
export class AppcImageDto {
  /** Name of the image. */
  @Text('name')
  name: string;
  /** Id of the image. */
  @IsOptional()
  @Text('name')
  id?: string;
}

/** An image by its name. */
export class ContainerImageDto {
  /** Name of the image. */
  @Text('name')
  name: string;
}

/** The image of a container that the cluster itself starts. */
export class ClusterImageDto {
  /** Format of the image. */
  @OneOf(['APPC', 'DOCKER'])
  type: 'APPC' | 'DOCKER';
  /** The image, for APPC. */
  @IsOptional()
  @Nested(() => AppcImageDto)
  appc?: AppcImageDto;
  /** The image, for DOCKER. */
  @IsOptional()
  @Nested(() => ContainerImageDto)
  docker?: ContainerImageDto;
  /** A copy on the machine may be used; false: it is pulled for each task. Default: true. */
  @IsOptional()
  @IsBoolean()
  cached?: boolean;
}

/** A container that the cluster itself starts. */
export class ClusterInfoDto {
  /** Its image. */
  @IsOptional()
  @Nested(() => ClusterImageDto)
  image?: ClusterImageDto;
}

/** One port of a container in a network. */
export class PortMappingDto {
  /** Port on the machine. */
  @Int32({ max: 65_535 })
  hostPort: number;
  /** Port inside the container. */
  @Int32({ max: 65_535 })
  containerPort: number;
  /** Protocol: tcp or udp. Default: tcp. */
  @IsOptional()
  @Text('name')
  protocol?: string;
}

/** A network that the container joins. */
export class NetworkInfoDto {
  /** Name of the network. */
  @IsOptional()
  @Text('name')
  name?: string;
  /** Network groups. */
  @IsOptional()
  @Texts('name')
  groups?: string[];
  /** Ports in this network. */
  @IsOptional()
  @NestedList(() => PortMappingDto)
  portMappings?: PortMappingDto[];
}

/** The container to run the task in. */
export class ContainerInfoDto implements ContainerInfo {
  /** MESOS (CLUSTER is taken for it): started by the cluster itself; DOCKER: by Docker. */
  @OneOf(['MESOS', 'DOCKER'])
  @Transform(({ value }: { value: unknown }) => (value === 'CLUSTER' ? 'MESOS' : value), { toClassOnly: true })
  type: 'MESOS' | 'DOCKER';
  /** Folders the container sees. */
  @IsOptional()
  @NestedList(() => VolumeDto)
  volumes?: VolumeDto[];
  /** For DOCKER: what to start. */
  @IsOptional()
  @Nested(() => DockerInfoDto)
  docker?: DockerInfoDto;
  /** For MESOS: what to start. */
  @IsOptional()
  @Nested(() => ClusterInfoDto)
  cluster?: ClusterInfoDto;
  /** Networks that the container joins. */
  @IsOptional()
  @NestedList(() => NetworkInfoDto)
  networkInfos?: NetworkInfoDto[];
}
