import { problem, type DeployRule } from './context.js';

/** Exactly one way to say what to run. */
export const launchFormRule: DeployRule = ({ command, executorData, customExecutorCmd, containerInfo }) => {
  if (containerInfo) return [];
  if (executorData) {
    return [
      ...problem(command !== undefined, 'command', 'launchForm', 'may not be given together with executorData'),
      ...problem(!customExecutorCmd, 'customExecutorCmd', 'launchForm', 'is required with executorData'),
    ];
  }
  return problem(!command, 'command', 'launchForm', 'is required unless executorData or containerInfo is given');
};

/** The scheduler itself sets this variable, and only it may. */
const reserved = 'STARTED_BY_USER';
const message = `may not contain ${reserved}, which the scheduler sets`;

export const reservedNameRule: DeployRule = ({ command, arguments: args, env, taskEnv }) => [
  ...problem(command?.includes(reserved) === true, 'command', 'reserved', message),
  ...problem(args?.some((argument) => argument.includes(reserved)) === true, 'arguments', 'reserved', message),
  ...problem(usesReserved(env), 'env', 'reserved', message),
  ...problem(Object.values(taskEnv ?? {}).some(usesReserved), 'taskEnv', 'reserved', message),
];

const usesReserved = (env: Record<string, string> | undefined): boolean =>
  Object.entries(env ?? {}).some(([name, value]) => name === reserved || value.includes(reserved));

/** With signatures enforced, nothing runs that was not signed. */
export const signatureRule: DeployRule = ({ uris, executorData }, { settings }) => {
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
