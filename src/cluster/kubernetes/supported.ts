import {
  type ClusterArtifact,
  hasContainer,
  isClusterObject,
  type ContainerInfo,
  type Deploy,
  type ExecutorData,
  variablesOf,
} from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { RunNowRequest } from '../../core/model/request.js';
import { type ContainerPolicy, containerProblems } from '../../agent/containers/rules.js';
import { unsupportedDownloads, unsupportedExecutorFields } from '../../agent/wire/unsupported.js';
import { staysInside } from '../../core/files/paths.js';
import type { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import type { UnsupportedOption } from '../cluster-driver.js';
import { objectsOfDeploy, refusedObjects } from './cluster-objects.js';

/** Fields of executorData that say how to run the command. */
const honouredOfExecutor = new Set([
  'cmd',
  'extraCmdLineArgs',
  'successfulExitCodes',
  'user',
  'sigKillProcessesAfterMillis',
  'runningSentinel',
  'loggingTag',
  'loggingExtraFields',
  'maxOpenFiles',
]);
/** Those that the agent of a node carries out. */
const honouredByAgents = new Set([
  'embeddedArtifacts',
  'externalArtifacts',
  'objstoreArtifacts',
  'objstoreArtifactSignatures',
  'preserveTaskSandboxAfterFinish',
  'maxTaskThreads',
  'logrotateFrequency',
  'skipLogrotateAndCompress',
]);

/**
 * Fields of a deploy that the Kubernetes driver cannot honour: the API refuses it by name, so that nothing is ignored
 * in silence.
 */
export function unsupportedOnKubernetes(
  deploy: Deploy,
  settings: KubernetesSettings,
  group?: string,
): UnsupportedOption[] {
  const problems: UnsupportedOption[] = refusedObjects(objectsOfDeploy(deploy, group), settings);
  const { containerInfo, executorData, healthcheck, runImmediately } = deploy;
  if (deploy.customExecutorCmd !== undefined && !executorData)
    problems.push({ field: 'customExecutorCmd', message: 'needs executorData: no other executor runs on Kubernetes' });
  if (executorData) problems.push(...unsupportedInExecutor(executorData, settings));
  if (containerInfo && hasContainer(deploy))
    problems.push(...unsupportedContainer(containerInfo, executorData !== undefined, settings, group));
  const resultFile = healthcheck?.healthcheckResultFilePath;
  if (resultFile !== undefined && !staysInside(resultFile))
    problems.push({ field: 'healthcheck.healthcheckResultFilePath', message: "must be a relative path without '..'" });
  const { killSignal, preStop } = deploy;
  if (preStop?.http && killSignal !== undefined && killSignal !== 'SIGTERM')
    problems.push({
      field: 'killSignal',
      message:
        'must be SIGTERM with preStop.http on Kubernetes, where another signal is sent by the same hook of the pod',
    });
  if (preStop?.http && preStop.timeoutMillis !== undefined)
    problems.push({
      field: 'preStop.timeoutMillis',
      message:
        'must not be given with preStop.http: on Kubernetes killGracePeriodMillis limits the call together with the end',
    });
  for (const [index, { resources }] of (deploy.tasks?.sidecars ?? []).entries())
    if (!((resources?.memoryMb ?? 0) > 0))
      problems.push({
        field: `tasks.sidecars.${index}.resources.memoryMb`,
        message: 'must be given on Kubernetes, where each container has a limit of its own',
      });
  if (healthcheck?.type === 'COMMAND' && !settings.agents)
    problems.push({ field: 'healthcheck.type', message: `must not be COMMAND: ${withoutAgents}` });
  if (deploy.objstoreUploaderAdditionalFiles?.length && !settings.agents)
    problems.push({
      field: 'objstoreUploaderAdditionalFiles',
      message: `must be empty: ${withoutAgents}`,
    });
  return [
    ...problems,
    ...variablesOf(deploy).flatMap(({ field, variables }) => unsupportedVariables(field, variables)),
    ...unsupportedArtifacts('uris', deploy.uris, settings),
    ...(runImmediately ? unsupportedInRun(runImmediately, settings) : []).map(({ field, message }) => ({
      field: `runImmediately.${field}`,
      message,
    })),
  ];
}

/** Fields that a single run adds to its deploy and that the driver cannot honour. */
export const unsupportedInRun = (
  run: Pick<RunNowRequest, 'envOverrides' | 'extraArtifacts'>,
  settings: KubernetesSettings,
): UnsupportedOption[] => [
  ...unsupportedVariables('envOverrides', run.envOverrides),
  ...unsupportedArtifacts('extraArtifacts', run.extraArtifacts, settings),
];

/**
 * Reason to refuse a launch, whose placeholders are filled now, and whose deploy may be older than the settings.
 * undefined: none.
 */
export function refusalOfLaunch(spec: LaunchSpec, settings: KubernetesSettings): string | undefined {
  const { container, executorData, user, artifacts, group } = spec;
  const problems = container ? unsupportedContainer(container, executorData !== undefined, settings, group) : [];
  const { secretEnvironment: secretEnv, serviceAccount } = spec;
  problems.push(...refusedObjects({ volumes: container?.volumes, secretEnv, serviceAccount, group }, settings));
  problems.push(...unsupportedArtifacts('uris', artifacts, settings));
  if (executorData) problems.push(...unsupportedInExecutor(executorData, settings));
  const [first] = problems;
  return first ? `${first.field} ${first.message}` : refusalOfUser(user, settings);
}

export const refusalOfUser = (user: string | undefined, { users }: KubernetesSettings): string | undefined =>
  user === undefined || Object.hasOwn(users, user)
    ? undefined
    : `must be one that the setting cluster.kubernetes.users names`;

function unsupportedContainer(
  info: ContainerInfo,
  isManaged: boolean,
  settings: KubernetesSettings,
  group: string | undefined,
): UnsupportedOption[] {
  const policy: ContainerPolicy = {
    ...settings,
    allowedVolumes: [],
    allowedVolumeDrivers: [],
    allowedParameters: [],
    section: 'cluster.kubernetes',
    // The kubelet follows links, and nothing here sees who could put them there.
    wholeDirectories: true,
  };
  const problems = containerProblems(withoutForeign(info), { isManaged, policy });
  return [
    ...(problems.length > 0 ? problems : refusedToGroup(info, isManaged, policy, settings, group)),
    ...foreign(info),
  ];
}

/** Everything that gives access to the node, where the settings give that to other groups only. */
function refusedToGroup(
  info: ContainerInfo,
  isManaged: boolean,
  policy: ContainerPolicy,
  { nodeAccessGroups }: KubernetesSettings,
  group: string | undefined,
): UnsupportedOption[] {
  if (!nodeAccessGroups || (group !== undefined && nodeAccessGroups.includes(group))) return [];
  const allowedNetworks = policy.allowedNetworks.filter((name) => name !== 'HOST');
  const closed = { ...policy, allowPrivileged: false, allowedNetworks, allowedHostPaths: [] };
  return containerProblems(withoutForeign(info), { isManaged, policy: closed }).map(({ field }) => ({
    field,
    message: 'needs access to the node, which the setting cluster.kubernetes.nodeAccessGroups gives to other groups',
  }));
}

/** Parts that only an engine of local agents knows. */
function foreign({ docker, volumes = [], networkInfos = [] }: ContainerInfo): UnsupportedOption[] {
  const none = (field: string, what: string): UnsupportedOption => ({
    field: `containerInfo.${field}`,
    message: `must not be given: ${what} on Kubernetes`,
  });
  return [
    ...(Object.keys(docker?.parameters ?? {}).length > 0
      ? [none('docker.parameters', 'there is no engine to give them to')]
      : []),
    ...(docker?.dockerParameters?.length
      ? [none('docker.dockerParameters', 'there is no engine to give them to')]
      : []),
    ...volumes.flatMap(({ source }, index) =>
      source && !isClusterObject(source) ? [none(`volumes[${index}].source`, 'there are no volumes of an engine')] : [],
    ),
    ...networkInfos.flatMap(({ name }, index) =>
      name === undefined ? [] : [none(`networkInfos[${index}].name`, 'there are no networks with names')],
    ),
  ];
}

/** Without what is refused with words of its own. */
const withoutForeign = (info: ContainerInfo): ContainerInfo => ({
  ...info,
  ...(info.docker && { docker: { ...info.docker, parameters: undefined, dockerParameters: undefined } }),
  volumes: info.volumes?.filter(({ source }) => !source),
  networkInfos: info.networkInfos?.map((network) => ({ ...network, name: undefined })),
});

/** As the API server takes them. */
const variableName = /^[ -<>-~]{1,1000}$/;

const unsupportedVariables = (field: string, env: Record<string, string> | undefined): UnsupportedOption[] =>
  Object.entries(env ?? {}).flatMap(([name, value]) => {
    if (!variableName.test(name))
      return [{ field: `${field}.${name}`, message: 'must have a name of printable characters without "="' }];
    return value?.includes('\0') ? [{ field: `${field}.${name}`, message: 'must not contain a NUL character' }] : [];
  });

function unsupportedInExecutor(data: ExecutorData, { agents }: KubernetesSettings): UnsupportedOption[] {
  const refused = Object.entries(data).flatMap(([key, value]): UnsupportedOption[] => {
    if (honouredOfExecutor.has(key) || (agents && honouredByAgents.has(key)) || isNothing(value)) return [];
    const why = honouredByAgents.has(key) ? withoutAgents : 'it is not done on Kubernetes';
    return [{ field: `executorData.${key}`, message: `must not be given: ${why}` }];
  });
  if (!agents) return refused;
  const urls = (data.externalArtifacts ?? []).map(({ url }, index) => ({
    field: `externalArtifacts[${index}].url`,
    url,
  }));
  return [
    ...refused,
    ...[...unsupportedExecutorFields(data), ...urls.flatMap(({ field, url }) => unsupportedPath(field, url))].map(
      ({ field, message }) => ({ field: `executorData.${field}`, message }),
    ),
  ];
}

const withoutAgents = 'it needs the agents of nodes (the setting cluster.kubernetes.agents)';

function unsupportedArtifacts(
  field: string,
  artifacts: readonly ClusterArtifact[] | undefined,
  { agents }: KubernetesSettings,
): UnsupportedOption[] {
  if (!artifacts?.length) return [];
  if (!agents) return [{ field, message: `must be empty: ${withoutAgents}` }];
  return [
    ...unsupportedDownloads(field, artifacts),
    ...artifacts.flatMap(({ uri }, index) => unsupportedPath(`${field}[${index}].uri`, uri)),
  ];
}

/** An agent has a file system of its own. What is no place at all is refused in other words. */
const unsupportedPath = (field: string, source: string | undefined): UnsupportedOption[] =>
  /^(file:\/\/|\/)/i.test(source ?? '')
    ? [{ field, message: 'must be an http or https URL on Kubernetes: agents see no files of their nodes' }]
    : [];

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === false || (Array.isArray(value) && value.length === 0);
