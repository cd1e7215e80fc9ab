import { type DeployRule, type DeployValidationContext, problem } from './context.js';
import { endRule } from './end-rules.js';
import { gateRule } from './gate-rules.js';
import { healthcheckRule, loadBalancerPortRule, runningSentinelRule } from './healthcheck-rules.js';
import { clusterObjectRule } from './object-rules.js';
import { containerRule, resourceRule } from './resource-rules.js';
import { strategyRule } from './strategy-rules.js';
import { taskRule } from './task-rules.js';
import type { FieldError } from '../field-error.js';
import { hasContainer, type ClusterTaskLabel, type Deploy } from '../model/deploy.js';
import { programsAround } from '../model/deploy-tasks.js';
import { isLongRunning } from '../model/enums.js';
import { isPathPart } from '../path-part.js';
import { reservedNameProblem } from '../ids.js';
import { textProblems } from '../launch/index.js';
import { sizeProblem } from '../record-size.js';
import { bucketProblems, runProblems, runOptions } from '../requests/run-now.js';

const idRule: DeployRule = ({ id }, { settings }) => {
  if (!id) return problem(true, 'id', 'required', 'is required');
  return [
    ...problem(!/^[a-zA-Z0-9_.]+$/.test(id), 'id', 'pattern', "may contain letters, digits, '_' and '.' only"),
    ...problem(!isPathPart(id), 'id', 'pattern', "must not be '.' or '..', which no path can name"),
    ...reservedNameProblem('deploy.id', id),
    ...problem(
      id.length > settings.maxDeployIdSize,
      'id',
      'length',
      `must be at most ${settings.maxDeployIdSize} characters long`,
    ),
  ];
};

const requestIdRule: DeployRule = ({ requestId }, { request }) =>
  problem(requestId !== request.id, 'requestId', 'match', `must be the id of its request, '${request.id}'`);

/** While priorities are frozen, nothing below the frozen level may start to run without an end. */
const priorityRule: DeployRule = (_deploy, { request, settings, minimumPriorityLevel }) => {
  if (minimumPriorityLevel === undefined || !isLongRunning(request.requestType)) return [];
  const priority =
    request.taskPriorityLevel ??
    settings.defaultTaskPriorityLevelForRequestType[request.requestType] ??
    settings.defaultTaskPriorityLevel;
  return problem(
    priority < minimumPriorityLevel,
    'requestId',
    'priority',
    `names a request of priority ${priority}, but deploys below ${minimumPriorityLevel} are frozen`,
  );
};

/** Exactly one way to say what to run. */
const launchFormRule: DeployRule = (deploy) => {
  const { command, executorData, customExecutorCmd } = deploy;
  if (hasContainer(deploy)) return [];
  if (executorData) {
    return [
      ...problem(command !== undefined, 'command', 'launchForm', 'may not be given together with executorData'),
      ...problem(!customExecutorCmd, 'customExecutorCmd', 'launchForm', 'is required with executorData'),
    ];
  }
  return problem(
    !command,
    'command',
    'launchForm',
    'is required unless executorData, or a container in containerInfo, is given',
  );
};

/** The scheduler itself sets this variable, and only it may. */
const reserved = 'STARTED_BY_USER';
const message = `may not contain ${reserved}, which the scheduler sets`;

const reservedNameRule: DeployRule = ({ command, arguments: args, env, taskEnv, tasks }) => [
  ...problem(command?.includes(reserved) === true, 'command', 'reserved', message),
  ...problem(args?.some((argument) => argument.includes(reserved)) === true, 'arguments', 'reserved', message),
  ...problem(usesReserved(env), 'env', 'reserved', message),
  ...problem(Object.values(taskEnv ?? {}).some(usesReserved), 'taskEnv', 'reserved', message),
  ...problem(
    programsAround(tasks).some(({ env: own }) => usesReserved(own)),
    'tasks',
    'reserved',
    message,
  ),
];

const usesReserved = (env: Record<string, string> | undefined): boolean =>
  Object.entries(env ?? {}).some(([name, value]) => name === reserved || value.includes(reserved));

/** With signatures enforced, nothing runs that was not signed. */
const signatureRule: DeployRule = ({ uris, executorData }, { settings }) => {
  if (!settings.enforceSignedArtifacts) return [];
  const signed = new Set(executorData?.objstoreArtifactSignatures?.map((signature) => signature.artifactFilename));
  const unsigned = 'cannot be signed, and only signed artifacts are allowed';
  return [
    ...problem((uris?.length ?? 0) > 0, 'uris', 'signed', unsigned),
    ...problem(
      (executorData?.embeddedArtifacts?.length ?? 0) > 0,
      'executorData.embeddedArtifacts',
      'signed',
      unsigned,
    ),
    ...problem(
      (executorData?.externalArtifacts?.length ?? 0) > 0,
      'executorData.externalArtifacts',
      'signed',
      unsigned,
    ),
    ...(executorData?.objstoreArtifacts ?? []).flatMap(({ filename }, index) =>
      problem(
        !signed.has(filename),
        `executorData.objstoreArtifacts.${index}`,
        'signed',
        'needs a signature that names its filename',
      ),
    ),
  ];
};

const uploadRule: DeployRule = ({ objstoreUploaderAdditionalFiles: files }, { uploadBuckets }) =>
  bucketProblems(files, uploadBuckets).map(({ field, rule, message }) => ({
    field: `deploy.${field}`,
    rule,
    message: `deploy.${message}`,
  }));

/** As a whole, and what a program can be given of it. */
const sizeRule: DeployRule = (deploy, { settings, isStored }) => {
  const size = isStored ? undefined : sizeProblem('deploy', deploy, settings);
  return [...(size ? [size] : []), ...textProblems(deploy)];
};

/** A run that starts together with the deploy obeys the rules of any run. */
const runImmediatelyRule: DeployRule = (deploy, { request, settings, now, uploadBuckets }) => {
  const { runImmediately: run, resources } = deploy;
  if (!run) return [];
  if (request.requestType !== 'SCHEDULED' && request.requestType !== 'ON_DEMAND') {
    const message = `is for SCHEDULED and ON_DEMAND requests only, this one is ${request.requestType}`;
    return problem(true, 'runImmediately', 'requestType', message);
  }
  const { maxRecordBytes, maxRunIdSize, maxRunNowTaskLaunchDelayDays, enforceSignedArtifacts } = settings;
  const limits = {
    ...settings.cluster,
    maxRecordBytes,
    maxRunIdSize,
    maxRunNowTaskLaunchDelayDays,
    enforceSignedArtifacts,
    uploadBuckets,
  };
  const ports = resources?.numPorts ?? 0;
  return [
    ...[...runProblems(run, now, limits), ...textProblems(deploy, runOptions(run))].map((error) => ({
      ...error,
      field: `deploy.runImmediately.${error.field}`,
      message: `deploy.runImmediately.${error.message}`,
    })),
    ...problem(
      run.resources !== undefined && (run.resources.numPorts ?? 0) < ports,
      'runImmediately.resources.numPorts',
      'min',
      `must be at least ${ports}, the number of ports of the deploy`,
    ),
  ];
};

/** Labels may be given as a map, as a list or as both; both must say the same, in whatever order. */
const labelRule: DeployRule = ({ labels, clusterLabels, taskLabels, clusterTaskLabels }) => [
  ...problem(differ(labels, clusterLabels), 'clusterLabels', 'match', 'must name the same labels as labels'),
  ...problem(
    taskLabels !== undefined && clusterTaskLabels !== undefined && taskLabelsDiffer(taskLabels, clusterTaskLabels),
    'clusterTaskLabels',
    'match',
    'must name the same labels as taskLabels',
  ),
];

function differ(map: Record<string, string> | undefined, list: readonly ClusterTaskLabel[] | undefined): boolean {
  if (!map || !list) return false;
  const asPairs = new Set(list.map(({ key, value }) => JSON.stringify([key, value])));
  const ofMap = Object.entries(map).map((pair) => JSON.stringify(pair));
  return asPairs.size !== ofMap.length || ofMap.some((pair) => !asPairs.has(pair));
}

function taskLabelsDiffer(
  maps: Record<string, Record<string, string>>,
  lists: Record<string, readonly ClusterTaskLabel[]>,
): boolean {
  const instances = new Set([...Object.keys(maps), ...Object.keys(lists)]);
  return [...instances].some((instance) => differ(maps[instance] ?? {}, lists[instance] ?? []));
}

/** The load balancer has to know where it puts the service, and under which path. */
const loadBalancedRule: DeployRule = ({ serviceBasePath, loadBalancerGroups }, { request, settings }) => {
  if (!request.loadBalanced) return [];
  if (settings.loadBalancerUri === undefined)
    return problem(
      true,
      'requestId',
      'loadBalancer',
      'names a request that is loadBalanced, and loadBalancerUri is not set',
    );
  const because = 'is required for a load balanced request';
  return [
    ...problem(!serviceBasePath, 'serviceBasePath', 'required', because),
    ...problem(!loadBalancerGroups?.length, 'loadBalancerGroups', 'required', `${because}, with at least one group`),
  ];
};

/** In the order in which a caller is told; the first broken rule becomes the message of the answer. */
const rules: readonly DeployRule[] = [
  idRule,
  requestIdRule,
  sizeRule,
  reservedNameRule,
  launchFormRule,
  containerRule,
  clusterObjectRule,
  healthcheckRule,
  runningSentinelRule,
  endRule,
  taskRule,
  strategyRule,
  gateRule,
  loadBalancedRule,
  loadBalancerPortRule,
  resourceRule,
  labelRule,
  signatureRule,
  uploadRule,
  runImmediatelyRule,
  priorityRule,
];

/** Every rule that a deploy in normal form breaks. Whether its id is new is for the database to say. */
export const validateDeploy = (deploy: Deploy, context: DeployValidationContext): FieldError[] =>
  rules.flatMap((rule) => rule(deploy, context));
