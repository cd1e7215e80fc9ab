import { type DeployRule, problem } from './context.js';
import type { FieldError } from '../field-error.js';
import { type Deploy, isClusterObject, type Volume } from '../model/deploy.js';

/** Of a claim, config map, secret or account; %i in the name of a claim is the number of the instance. */
const objectName = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const variableName = /^[A-Za-z_][A-Za-z0-9_]{0,499}$/;
/** Of a value in a secret. */
const secretKey = /^[A-Za-z0-9._-]{1,253}$/;
const keyText = 'must be a key of a secret: at most 253 letters, digits, ".", "_" and "-"';
const nameText = 'must be the name of an object of the cluster: lower-case letters, digits, "-" and "."';

/** Names of objects of the cluster, in volumes and variables. Whether the deploy may name them its driver decides. */
export const clusterObjectRule: DeployRule = (deploy) => [
  ...(deploy.containerInfo?.volumes ?? []).flatMap((volume, index) =>
    volumeProblems(volume, `containerInfo.volumes.${index}`),
  ),
  ...problem(
    deploy.serviceAccount !== undefined && !objectName.test(deploy.serviceAccount),
    'serviceAccount',
    'pattern',
    nameText,
  ),
  ...(deploy.secretEnv ?? []).flatMap((_variable, index) => secretProblems(deploy, index)),
];

function volumeProblems({ source, containerPath, hostPath, mode }: Volume, field: string): FieldError[] {
  if (!isClusterObject(source)) {
    const isNamed = source?.name !== undefined;
    return problem(isNamed, `${field}.source.name`, 'kind', 'must not be given: source.type names no object');
  }
  const isClaim = source.type === 'PERSISTENT_VOLUME_CLAIM';
  const name = isClaim ? source.name?.replaceAll('%i', '1') : source.name;
  return [
    ...problem(
      !!containerPath && !/^\/[^:]+$/.test(containerPath),
      `${field}.containerPath`,
      'pattern',
      'must be an absolute path without ":"',
    ),
    ...problem(name === undefined, `${field}.source.name`, 'required', 'is required'),
    ...problem(name !== undefined && !objectName.test(name), `${field}.source.name`, 'pattern', nameText),
    ...problem(hostPath !== undefined, `${field}.hostPath`, 'kind', 'must not be given with a source of its own'),
    ...problem(!!source.dockerVolume, `${field}.source.dockerVolume`, 'kind', `must not be given for ${source.type}`),
    ...problem(!isClaim && mode === 'RW', `${field}.mode`, 'kind', `must be RO: a ${source.type} is read-only`),
  ];
}

function secretProblems(deploy: Deploy, index: number): FieldError[] {
  const { env, taskEnv = {}, secretEnv = [] } = deploy;
  const { name, secret, key } = secretEnv[index]!;
  const field = `secretEnv.${index}`;
  const isGiven = [env, ...Object.values(taskEnv)].some((variables) => variables && Object.hasOwn(variables, name));
  const isAgain = secretEnv.findIndex((other) => other.name === name) < index;
  return [
    ...problem(!variableName.test(name), `${field}.name`, 'pattern', 'must be a variable: letters, digits and "_"'),
    ...problem(name === 'STARTED_BY_USER', `${field}.name`, 'reserved', 'must not be one that the scheduler sets'),
    ...problem(isGiven, `${field}.name`, 'conflict', 'must not be in env or taskEnv too'),
    ...problem(isAgain, `${field}.name`, 'conflict', 'must not be there twice'),
    ...problem(!objectName.test(secret), `${field}.secret`, 'pattern', nameText),
    ...problem(!secretKey.test(key), `${field}.key`, 'pattern', keyText),
  ];
}
