import type { Int32 } from '../schema.js';

/** Driver and name of a volume that Docker manages. */
export interface DockerVolume {
  /** Volume driver. */
  driver?: string;
  /** Name of the volume. */
  name?: string;
  /** Options of the driver. */
  driverOptions?: Record<string, string>;
}

/** Where a volume comes from, other than a folder of the machine. */
export interface VolumeSource {
  /** Kind of source. */
  type?: 'UNKNOWN' | 'DOCKER_VOLUME';
  /** The Docker volume, for that kind. */
  dockerVolume?: DockerVolume;
}

/** A folder the container sees. */
export interface Volume {
  /** Path inside the container. */
  containerPath?: string;
  /** Path on the machine. */
  hostPath?: string;
  /** Read-only or read-write. */
  mode?: 'RO' | 'RW';
  /** Source other than a path of the machine. */
  source?: VolumeSource;
}

/** One port of a Docker container on its machine. FROM_OFFER ports are numbers of the task's ports, from 0. */
export interface ContainerPortMapping {
  /** How containerPort is meant; LITERAL unless said otherwise. */
  containerPortType?: 'LITERAL' | 'FROM_OFFER';
  /** Port inside the container. */
  containerPort: Int32;
  /** How hostPort is meant; LITERAL unless said otherwise. */
  hostPortType?: 'LITERAL' | 'FROM_OFFER';
  /** Port on the machine. */
  hostPort: Int32;
  /** Protocol; tcp unless said otherwise. */
  protocol?: string;
}

/** One option for starting the container. */
export interface DockerParameter {
  /** Name of the option. */
  key?: string;
  /** Value of the option. */
  value?: string;
}

/** What Docker is to start. */
export interface DockerInfo {
  /** Image to run. */
  image: string;
  /** Kind of network. */
  network?: 'BRIDGE' | 'HOST' | 'NONE';
  /** Ports of the container on its machine. */
  portMappings?: ContainerPortMapping[];
  /** Options for starting the container, older form. */
  parameters?: Record<string, string>;
  /** Options for starting the container. */
  dockerParameters?: DockerParameter[];
  /** Give the container all rights of the machine; false unless said otherwise. */
  privileged?: boolean;
  /** Pull the image even if the machine has it. */
  forcePullImage?: boolean;
}

/** An image in the APPC format. */
export interface AppcImage {
  /** Name of the image. */
  name: string;
  /** Id of the image. */
  id?: string;
}

/** An image by its name. */
export interface ContainerImage {
  /** Name of the image. */
  name: string;
}

/** The image of a container that the cluster itself starts. */
export interface ClusterImage {
  /** Format of the image. */
  type: 'APPC' | 'DOCKER';
  /** The image, for APPC. */
  appc?: AppcImage;
  /** The image, for DOCKER. */
  docker?: ContainerImage;
  /** A copy on the machine may be used. */
  cached?: boolean;
}

/** A container that the cluster itself starts. */
export interface ClusterInfo {
  /** Its image. */
  image?: ClusterImage;
}

/** One port of a container in a network. */
export interface PortMapping {
  /** Port on the machine. */
  hostPort: Int32;
  /** Port inside the container. */
  containerPort: Int32;
  /** Protocol. */
  protocol?: string;
}

/** A network that the container joins. */
export interface NetworkInfo {
  /** Name of the network. */
  name?: string;
  /** Network groups. */
  groups?: string[];
  /** Ports in this network. */
  portMappings?: PortMapping[];
}

/** The container to run the task in. */
export interface ContainerInfo {
  /** MESOS (CLUSTER is taken for it): started by the cluster itself; DOCKER: by Docker. */
  type: 'MESOS' | 'DOCKER';
  /** Folders the container sees. */
  volumes?: Volume[];
  /** Networks that the container joins. */
  networkInfos?: NetworkInfo[];
  /** For DOCKER: what to start. */
  docker?: DockerInfo;
  /** For MESOS: what to start. */
  cluster?: ClusterInfo;
}
