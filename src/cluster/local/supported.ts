import {
  hasContainer,
  type ClusterArtifact,
  type ContainerInfo,
  type Deploy,
  variablesOf,
} from '../../core/model/deploy.js';
import type { RunNowRequest } from '../../core/model/request.js';
import { type ContainerPolicy, containerProblems, networkKind } from '../../agent/containers/rules.js';
import { ContainerSettings } from '../../platform/settings/container-settings.js';
import {
  unsupportedDownloads,
  unsupportedExecutorFields,
  unsupportedInContainer,
  unsupportedVariables,
  type UnsupportedField,
} from '../../agent/wire/unsupported.js';
import { staysInside } from '../../core/files/paths.js';

/**
 * Fields of a deploy that the local driver cannot honour: the API refuses it by name, so that nothing is ignored in
 * silence.
 */
export function unsupportedByLocalDriver(
  deploy: Deploy,
  allowedArtifactPaths: readonly string[] = [],
  hasArtifactStore = false,
  containers: ContainerPolicy = closedToContainers,
): UnsupportedField[] {
  const problems: UnsupportedField[] = [...unsupportedContainer(deploy, containers)];
  if (deploy.customExecutorCmd !== undefined && !deploy.executorData)
    problems.push({
      field: 'customExecutorCmd',
      message:
        'needs executorData with the local driver, whose agent runs tasks itself: ' +
        'say the command as executorData.cmd, or leave customExecutorCmd out',
    });
  if (deploy.executorData)
    problems.push(
      ...unsupportedExecutorFields(deploy.executorData, {
        allowedPaths: allowedArtifactPaths,
        hasArtifactStore,
      }).map((problem) => within('executorData', problem)),
    );
  if (deploy.tasks && hasContainer(deploy))
    problems.push({
      field: 'tasks',
      message:
        'must not be given together with a container: an agent runs programs around the main one of processes alone',
    });
  if (deploy.secretEnv?.length)
    problems.push({ field: 'secretEnv', message: 'must not be given: only a Kubernetes has secrets' });
  if (deploy.serviceAccount !== undefined)
    problems.push({ field: 'serviceAccount', message: 'must not be given: only a Kubernetes has service accounts' });
  const resultFile = deploy.healthcheck?.healthcheckResultFilePath;
  if (resultFile !== undefined && !staysInside(resultFile))
    problems.push({ field: 'healthcheck.healthcheckResultFilePath', message: "must be a relative path without '..'" });
  return [
    ...problems,
    ...variablesOf(deploy).flatMap(({ field, variables }) => unsupportedVariables(field, variables)),
    ...unsupportedDownloads('uris', deploy.uris, allowedArtifactPaths),
    ...(deploy.runImmediately
      ? unsupportedInRun(deploy.runImmediately, allowedArtifactPaths, hasContainer(deploy)).map((problem) =>
          within('runImmediately', problem),
        )
      : []),
  ];
}

const closedToContainers: ContainerPolicy = ContainerSettings.parse({});

function unsupportedContainer(deploy: Deploy, policy: ContainerPolicy): UnsupportedField[] {
  const { containerInfo, env, taskEnv = {}, executorData } = deploy;
  if (!containerInfo || !hasContainer(deploy)) return [];
  const isManaged = executorData !== undefined;
  return [
    ...containerProblems(containerInfo, { isManaged, policy }),
    ...lostInNetwork(containerInfo, isManaged),
    ...unsupportedInContainer('env', env),
    ...Object.entries(taskEnv).flatMap(([instance, variables]) =>
      unsupportedInContainer(`taskEnv.${instance}`, variables),
    ),
  ];
}

/** The network of the machine has the ports of the machine, and none has none: further networks and ports would come to nothing. */
function lostInNetwork(container: ContainerInfo, isManaged: boolean): UnsupportedField[] {
  const kind = networkKind(container, isManaged);
  if (kind === undefined || kind === 'BRIDGE') return [];
  const { docker, networkInfos = [] } = container;
  const given = [
    ...(docker?.portMappings?.length ? ['docker.portMappings'] : []),
    ...networkInfos.flatMap(({ name, portMappings }, index) => [
      ...(name === undefined ? [] : [`networkInfos[${index}].name`]),
      ...(portMappings?.length ? [`networkInfos[${index}].portMappings`] : []),
    ]),
  ];
  const message = `must not be given while docker.network is ${kind}${docker?.network ? '' : ', as it is where it is absent'}`;
  return given.map((field) => ({ field: `containerInfo.${field}`, message }));
}

/** Fields that a single run adds to its deploy and that the driver cannot honour. */
export function unsupportedInRun(
  run: {
    envOverrides?: RunNowRequest['envOverrides'];
    extraArtifacts?: ClusterArtifact[];
  },
  allowedArtifactPaths: readonly string[] = [],
  isInContainer = false,
): UnsupportedField[] {
  return [
    ...unsupportedVariables('envOverrides', run.envOverrides),
    ...(isInContainer ? unsupportedInContainer('envOverrides', run.envOverrides) : []),
    ...unsupportedDownloads('extraArtifacts', run.extraArtifacts, allowedArtifactPaths),
  ];
}

const within = (field: string, problem: UnsupportedField): UnsupportedField => ({
  ...problem,
  field: `${field}.${problem.field}`,
});
