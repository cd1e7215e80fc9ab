import { withoutAbsent } from '../without-absent.js';
import type {
  CanaryDeploySettings,
  ClusterArtifact,
  ClusterTaskLabel,
  ContainerInfo,
  Deploy,
  DeployTasks,
  DockerInfo,
  ExecutorData,
  HealthcheckOptions,
  Resources,
} from '../model/deploy.js';

/**
 * The form in which a deploy is stored and shown: what was sent, with the members filled in that readers rely on.
 * Normalizing twice changes nothing, so a deploy that was read can be posted again.
 */
export function normalizeDeploy(deploy: Deploy): Deploy {
  return withoutAbsent({
    ...deploy,
    resources: withPortsAndDisk(deploy.resources),
    customExecutorResources: withPortsAndDisk(deploy.customExecutorResources),
    uris: deploy.uris?.map(normalizeArtifact),
    containerInfo: deploy.containerInfo && normalizeContainer(deploy.containerInfo),
    executorData: deploy.executorData && normalizeExecutorData(deploy.executorData),
    clusterLabels: deploy.clusterLabels ?? (deploy.labels && asList(deploy.labels)),
    clusterTaskLabels: deploy.clusterTaskLabels ?? (deploy.taskLabels && asLists(deploy.taskLabels)),
    healthcheck: deploy.healthcheck ?? healthcheckOfFlatFields(deploy),
    canaryDeploySettings: deploy.canaryDeploySettings && normalizeCanarySettings(deploy.canaryDeploySettings),
    tasks: deploy.tasks && normalizeTasks(deploy.tasks),
    objstoreUploaderAdditionalFiles: deploy.objstoreUploaderAdditionalFiles ?? [],
  });
}

const withPortsAndDisk = (resources: Resources | undefined): Resources | undefined =>
  resources && { ...resources, numPorts: resources.numPorts ?? 0, diskMb: resources.diskMb ?? 0 };

const normalizeArtifact = (artifact: ClusterArtifact): ClusterArtifact => ({
  ...artifact,
  cache: artifact.cache ?? false,
  executable: artifact.executable ?? false,
  extract: artifact.extract ?? true,
});

const normalizeCanarySettings = (sent: Partial<CanaryDeploySettings>): CanaryDeploySettings => ({
  enableCanaryDeploy: sent.enableCanaryDeploy ?? false,
  instanceGroupSize: sent.instanceGroupSize ?? 1,
  acceptanceMode: sent.acceptanceMode ?? 'NONE',
  waitMillisBetweenGroups: sent.waitMillisBetweenGroups ?? 0,
  allowedTasksFailuresPerGroup: sent.allowedTasksFailuresPerGroup ?? 0,
  canaryCycleCount: sent.canaryCycleCount ?? 3,
  ...(sent.gates && { gates: sent.gates.map((gate) => withoutAbsent(gate)) }),
});

const normalizeTasks = ({ init, sidecars, post }: DeployTasks): DeployTasks =>
  withoutAbsent({
    init: init?.map((step) => withoutAbsent(step)),
    sidecars: sidecars?.map(({ resources, ...sidecar }) =>
      withoutAbsent({ ...sidecar, resources: resources && withoutAbsent(resources) }),
    ),
    post: post?.map((step) => withoutAbsent(step)),
  });

const normalizeContainer = (container: ContainerInfo): ContainerInfo =>
  withoutAbsent({ ...container, docker: container.docker && normalizeDocker(container.docker) });

const normalizeDocker = (docker: DockerInfo): DockerInfo =>
  withoutAbsent({
    ...docker,
    privileged: docker.privileged ?? false,
    forcePullImage: docker.forcePullImage ?? false,
    dockerParameters: docker.dockerParameters ?? [],
    portMappings: docker.portMappings?.map((mapping) => ({
      ...mapping,
      containerPortType: mapping.containerPortType ?? 'LITERAL',
      hostPortType: mapping.hostPortType ?? 'LITERAL',
      protocol: mapping.protocol ?? 'tcp',
    })),
  });

const normalizeExecutorData = (data: ExecutorData): ExecutorData => ({
  ...data,
  embeddedArtifacts: data.embeddedArtifacts ?? [],
  externalArtifacts: data.externalArtifacts ?? [],
  objstoreArtifacts: data.objstoreArtifacts ?? [],
  objstoreArtifactSignatures: data.objstoreArtifactSignatures ?? [],
  successfulExitCodes: data.successfulExitCodes ?? [],
  extraCmdLineArgs: data.extraCmdLineArgs ?? [],
  loggingExtraFields: data.loggingExtraFields ?? {},
});

const asList = (labels: Record<string, string>): ClusterTaskLabel[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value }));
const asLists = (labels: Record<string, Record<string, string>>): Record<string, ClusterTaskLabel[]> =>
  Object.fromEntries(Object.entries(labels).map(([instance, map]) => [instance, asList(map)]));

/** Older clients describe the health check in fields of the deploy itself. */
function healthcheckOfFlatFields(deploy: Deploy): HealthcheckOptions | undefined {
  if (!deploy.healthcheckUri) return undefined;
  return withoutAbsent({
    uri: deploy.healthcheckUri,
    portIndex: deploy.healthcheckPortIndex,
    protocol: deploy.healthcheckProtocol,
    intervalSeconds: deploy.healthcheckIntervalSeconds,
    responseTimeoutSeconds: deploy.healthcheckTimeoutSeconds,
    maxRetries: deploy.healthcheckMaxRetries,
  });
}
