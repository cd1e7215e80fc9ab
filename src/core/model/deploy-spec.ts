import {
  type CanaryAcceptanceMode,
  type ClusterObjectKind,
  clusterObjectKinds,
  type DeployStrategy,
  type HealthcheckProtocol,
  type KillSignal,
} from './enums.js';
import type { DeployGate } from './gate.js';
import type { HealthcheckOptions, PreStop } from './task-care.js';
import { type DeployTasks, programsAround } from './deploy-tasks.js';

export type * from './task-care.js';
export type * from './deploy-tasks.js';

export interface Resources {
  cpus?: number;
  memoryMb?: number;
  numPorts?: number;
  diskMb?: number;
  /** Counts of further resources of machines by name, such as nvidia.com/gpu. */
  extended?: ExtendedResources;
}

/** Whole numbers by name: what a task asks for, a machine has, or is used of it. */
export type ExtendedResources = Record<string, number>;

export interface Deploy {
  requestId: string;
  id: string;
  command?: string;
  arguments?: string[];
  containerInfo?: ContainerInfo;
  customExecutorCmd?: string;
  customExecutorId?: string;
  customExecutorSource?: string;
  customExecutorResources?: Resources;
  resources?: Resources;
  env?: Record<string, string>;
  taskEnv?: Record<string, Record<string, string>>;
  /** Variables whose values are in secrets of the cluster, which Muster does not read. */
  secretEnv?: SecretVariable[];
  /** Service account of the cluster whose token its tasks get. */
  serviceAccount?: string;
  runImmediately?: RunNowRequest;
  uris?: ClusterArtifact[];
  metadata?: Record<string, string>;
  executorData?: ExecutorData;
  version?: string;
  timestamp?: number;
  labels?: Record<string, string>;
  clusterLabels?: ClusterTaskLabel[];
  taskLabels?: Record<string, Record<string, string>>;
  clusterTaskLabels?: Record<string, ClusterTaskLabel[]>;
  deployHealthTimeoutSeconds?: number;
  healthcheckUri?: string;
  healthcheckIntervalSeconds?: number;
  healthcheckTimeoutSeconds?: number;
  healthcheckPortIndex?: number;
  healthcheckMaxRetries?: number;
  healthcheckMaxTotalTimeoutSeconds?: number;
  healthcheck?: HealthcheckOptions;
  serviceBasePath?: string;
  loadBalancerGroups?: string[];
  loadBalancerPortIndex?: number;
  considerHealthyAfterRunningForSeconds?: number;
  loadBalancerOptions?: Record<string, Record<string, unknown>>;
  loadBalancerDomains?: string[];
  loadBalancerAdditionalRoutes?: string[];
  loadBalancerTemplate?: string;
  loadBalancerServiceIdOverride?: string;
  loadBalancerUpstreamGroup?: string;
  skipHealthchecksOnDeploy?: boolean;
  deployInstanceCountPerStep?: number;
  deployStepWaitTimeMs?: number;
  autoAdvanceDeploySteps?: boolean;
  maxTaskRetries?: number;
  canaryDeploySettings?: CanaryDeploySettings;
  shell?: boolean;
  user?: string;
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFile[];
  healthcheckProtocol?: HealthcheckProtocol;
  killSignal?: KillSignal;
  killGracePeriodMillis?: number;
  preStop?: PreStop;
  /** Programs around the main one. */
  tasks?: DeployTasks;
  /** Absent: NEW_FIRST. */
  deployStrategy?: DeployStrategy;
  /** Only of OLD_FIRST: the most instances that may be missing at a time. Absent: one. */
  maxUnavailable?: number;
}

/** Its variables, each map with its place: for all tasks, for one instance, and for a program around the main one. */
export const variablesOf = ({ env = {}, taskEnv = {}, tasks }: Deploy) => [
  { field: 'env', variables: env },
  ...Object.entries(taskEnv).map(([instance, own]) => ({ field: `taskEnv.${instance}`, variables: own })),
  ...programsAround(tasks).map(({ field, env: own = {} }) => ({ field: `${field}.env`, variables: own })),
];

/** A variable with one value of a secret. */
export interface SecretVariable {
  name: string;
  /** Name of the secret. */
  secret: string;
  key: string;
}

export interface CanaryDeploySettings {
  enableCanaryDeploy: boolean;
  instanceGroupSize: number;
  acceptanceMode: CanaryAcceptanceMode;
  waitMillisBetweenGroups: number;
  allowedTasksFailuresPerGroup: number;
  canaryCycleCount: number;
  gates?: DeployGate[];
}

export interface ExecutorData {
  cmd: string;
  embeddedArtifacts?: EmbeddedArtifact[];
  externalArtifacts?: ExternalArtifact[];
  objstoreArtifacts?: ObjstoreArtifact[];
  successfulExitCodes?: number[];
  user?: string;
  runningSentinel?: string;
  extraCmdLineArgs?: string[];
  loggingTag?: string;
  loggingExtraFields?: Record<string, string>;
  sigKillProcessesAfterMillis?: number;
  maxTaskThreads?: number;
  preserveTaskSandboxAfterFinish?: boolean;
  maxOpenFiles?: number;
  skipLogrotateAndCompress?: boolean;
  objstoreArtifactSignatures?: ObjstoreArtifactSignature[];
  logrotateFrequency?: 'EVERY_MINUTE' | 'EVERY_FIVE_MINUTES' | 'HOURLY' | 'DAILY' | 'WEEKLY' | 'MONTHLY';
}

export interface EmbeddedArtifact {
  name?: string;
  filename?: string;
  md5sum?: string;
  /** Base64, in the form that it was sent in. */
  content?: string | string[];
  targetFolderRelativeToTask?: string;
}

export interface ExternalArtifact {
  name?: string;
  filename?: string;
  md5sum?: string;
  url?: string;
  filesize?: number;
  targetFolderRelativeToTask?: string;
  isArtifactList?: boolean;
}

export interface ObjstoreArtifact {
  name?: string;
  filename?: string;
  md5sum?: string;
  filesize?: number;
  objstoreBucket?: string;
  objstoreObjectKey?: string;
  targetFolderRelativeToTask?: string;
  isArtifactList?: boolean;
}

export interface ObjstoreArtifactSignature {
  name?: string;
  filename?: string;
  md5sum?: string;
  filesize?: number;
  objstoreBucket?: string;
  objstoreObjectKey?: string;
  artifactFilename?: string;
  targetFolderRelativeToTask?: string;
  isArtifactList?: boolean;
}

export interface ClusterArtifact {
  uri: string;
  cache?: boolean;
  executable?: boolean;
  extract?: boolean;
  outputFile?: string;
}

export interface ObjstoreUploaderFile {
  filename?: string;
  objstoreUploaderBucket?: string;
  objstoreUploaderKeyPattern?: string;
  objstoreUploaderFilenameHint?: string;
  directory?: string;
  objstoreStorageClass?: string;
  applyObjstoreStorageClassAfterBytes?: number;
  checkSubdirectories?: boolean;
}

export interface ContainerInfo {
  type: 'MESOS' | 'DOCKER';
  volumes?: Volume[];
  docker?: DockerInfo;
  cluster?: ClusterInfo;
  networkInfos?: NetworkInfo[];
}

/** Clients name a type also where nothing of a container is wanted: without anything that makes one it is none. */
export function hasContainer({ containerInfo }: Pick<Deploy, 'containerInfo'>): boolean {
  if (!containerInfo) return false;
  const { type, docker, cluster, volumes = [], networkInfos = [] } = containerInfo;
  const hasImage = docker !== undefined || cluster?.image !== undefined;
  return type === 'DOCKER' || hasImage || volumes.length > 0 || networkInfos.length > 0;
}

/** The image of a container, and whether a copy that the machine has may not be used. */
export function imageOf({ docker, cluster }: ContainerInfo): { name: string; isPulled: boolean } | undefined {
  if (docker) return { name: docker.image, isPulled: docker.forcePullImage === true };
  const image = cluster?.image;
  return image?.type === 'DOCKER' && image.docker
    ? { name: image.docker.name, isPulled: image.cached === false }
    : undefined;
}

export interface Volume {
  containerPath?: string;
  hostPath?: string;
  mode?: 'RO' | 'RW';
  source?: VolumeSource;
}

export interface VolumeSource {
  type?: 'UNKNOWN' | 'DOCKER_VOLUME' | ClusterObjectKind;
  dockerVolume?: DockerVolume;
  /** Of the claim, config map or secret. */
  name?: string;
}

/** True for a source that is an object of a Kubernetes. */
export const isClusterObject = (
  source: VolumeSource | undefined,
): source is VolumeSource & { type: ClusterObjectKind } =>
  (clusterObjectKinds as readonly (string | undefined)[]).includes(source?.type);

export interface DockerVolume {
  driver?: string;
  name?: string;
  driverOptions?: Record<string, string>;
}

export interface DockerInfo {
  image: string;
  privileged: boolean;
  network?: 'BRIDGE' | 'HOST' | 'NONE';
  portMappings?: ContainerPortMapping[];
  forcePullImage?: boolean;
  parameters?: Record<string, string>;
  dockerParameters?: DockerParameter[];
}

export interface DockerParameter {
  key?: string;
  value?: string;
}

export interface ContainerPortMapping {
  containerPortType?: 'LITERAL' | 'FROM_OFFER';
  containerPort: number;
  hostPortType?: 'LITERAL' | 'FROM_OFFER';
  hostPort: number;
  protocol?: string;
}

export interface ClusterInfo {
  image?: ClusterImage;
}

export interface ClusterImage {
  type: 'APPC' | 'DOCKER';
  appc?: AppcImage;
  docker?: ContainerImage;
  cached?: boolean;
}

export interface AppcImage {
  name: string;
  id?: string;
}

export interface ContainerImage {
  name: string;
}

export interface NetworkInfo {
  name?: string;
  groups?: string[];
  portMappings?: PortMapping[];
}

export interface PortMapping {
  hostPort: number;
  containerPort: number;
  protocol?: string;
}

export interface ClusterTaskLabel {
  key: string;
  value?: string;
}

export interface RunNowRequest {
  message?: string;
  skipHealthchecks?: boolean;
  runId?: string;
  commandLineArgs?: string[];
  resources?: Resources;
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFile[];
  runAsUserOverride?: string;
  envOverrides?: Record<string, string>;
  requiredSlaveAttributeOverrides?: Record<string, string>;
  allowedSlaveAttributeOverrides?: Record<string, string>;
  extraArtifacts?: ClusterArtifact[];
  runAt?: number;
  /** False: no run of a follower is made when it ends. Absent: true. */
  triggersFollowers?: boolean;
}
