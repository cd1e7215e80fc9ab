import type { NextFunction, Request, Response } from 'express';
import { oneBase64 } from '../../core/base64.js';
import type { Settings } from '../settings/settings.js';

/** Leniency towards callers that were made for an older version of this API. */
export interface Leniency {
  /** Members are taken by their older names, too, and written under both. */
  readonly acceptsNames: boolean;
  readonly emitsNames: boolean;
  /** Numbers and truth values may come as text, and JSON under an encoding that it does not have. */
  readonly readsLoosely: boolean;
}

export function leniencyOf({
  legacyFieldNames,
  compatibility,
}: Pick<Settings, 'legacyFieldNames' | 'compatibility'>): Leniency {
  const readsLoosely = compatibility === '1.5';
  return {
    acceptsNames: readsLoosely || legacyFieldNames !== 'off',
    emitsNames: readsLoosely || legacyFieldNames === 'accept+emit',
    readsLoosely,
  };
}

/**
 * Members that older and newer clients of this API call differently: their name -> ours. Paths are aliased below, words in
 * them where they are read (PathWord).
 */
export const legacyNames: Readonly<Record<string, string>> = {
  s3Artifacts: 'objstoreArtifacts',
  s3ArtifactSignatures: 'objstoreArtifactSignatures',
  s3Bucket: 'objstoreBucket',
  s3ObjectKey: 'objstoreObjectKey',
  s3UploaderAdditionalFiles: 'objstoreUploaderAdditionalFiles',
  s3UploaderBucket: 'objstoreUploaderBucket',
  s3UploaderKeyPattern: 'objstoreUploaderKeyPattern',
  s3UploaderFilenameHint: 'objstoreUploaderFilenameHint',
  s3StorageClass: 'objstoreStorageClass',
  applyS3StorageClassAfterBytes: 'applyObjstoreStorageClassAfterBytes',
  mesosLabels: 'clusterLabels',
  mesosTaskLabels: 'clusterTaskLabels',
  mesosTask: 'clusterTask',
  mesosConnected: 'clusterConnected',
  mesosMaster: 'clusterMaster',
  mesos: 'cluster',
  fileNamePrefixAllowlist: 'fileNamePrefixWhitelist',
  agentPlacement: 'slavePlacement',
  requiredAgentAttributes: 'requiredSlaveAttributes',
  allowedAgentAttributes: 'allowedSlaveAttributes',
  agentAttributeMinimums: 'slaveAttributeMinimums',
  requiredAgentAttributeOverrides: 'requiredSlaveAttributeOverrides',
  allowedAgentAttributeOverrides: 'allowedSlaveAttributeOverrides',
};

/** Written in addition to the reverse of legacyNames; no client sends these. */
const emittedOnly: Readonly<Record<string, string>> = {
  slaveId: 'agentId',
  slaveHostname: 'agentHostname',
  activeSlaves: 'activeAgents',
  deadSlaves: 'deadAgents',
  decommissioningSlaves: 'decommissioningAgents',
  unknownSlaves: 'unknownAgents',
  numActiveSlaves: 'numActiveAgents',
  numLostSlaves: 'numLostAgents',
  disasters: 'disasterStates',
  automatedActionsDisabled: 'automatedActionDisabled',
};

/** Words that newer clients say as the value of a member: member -> their word -> ours. They are never written. */
export const legacyWords: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  slavePlacement: { SPREAD_ALL_AGENTS: 'SPREAD_ALL_SLAVES' },
  // The action that is to be disabled: the path says which, and its words are aliased there.
  type: {
    ACTIVATE_AGENT: 'ACTIVATE_SLAVE',
    DECOMMISSION_AGENT: 'DECOMMISSION_SLAVE',
    FREEZE_AGENT: 'FREEZE_SLAVE',
    VIEW_AGENTS: 'VIEW_SLAVES',
  },
};

/** Members whose keys belong to the user (environment variables, labels): nothing in them is renamed. */
export const freeFormMembers: ReadonlySet<string> = new Set([
  'env',
  'taskEnv',
  'envOverrides',
  'labels',
  'taskLabels',
  'metadata',
  'loadBalancerOptions',
  'loggingExtraFields',
  'parameters',
  'driverOptions',
  'extended',
  'attributes',
  'emailConfigurationOverrides',
  'actionPermissions',
  'requestsAndDeploys',
  'continuationTokens',
  'preferences',
  'requiredSlaveAttributes',
  'allowedSlaveAttributes',
  'slaveAttributeMinimums',
  'requiredSlaveAttributeOverrides',
  'allowedSlaveAttributeOverrides',
]);

const emitted: ReadonlyMap<string, string> = new Map([
  ...Object.entries(legacyNames).map(([legacy, ours]) => [ours, legacy] as const),
  ...Object.entries(emittedOnly),
]);

const ours: ReadonlyMap<string, string> = new Map([...emitted].map(([name, legacy]) => [legacy, name]));

/** A dotted path of members, as `property` has them, in our names. */
export const inOurNames = (path: string): string => path.replace(/[^.!]+/g, (name) => ours.get(name) ?? name);

/** Copies a document with every renamed member under both names, for clients that read the legacy ones. */
export function withLegacyNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withLegacyNames);
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  const result: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const written = freeFormMembers.has(name) ? member : withLegacyNames(asOlderClientsRead(name, member));
    result[name] = written;
    const legacy = emitted.get(name);
    if (legacy !== undefined && !(legacy in value))
      result[legacy] = name === 'clusterTask' ? asSought(written) : written;
  }
  return result;
}

/** In the records of older clients the content of an embedded file is bytes, which they read from one text. */
const asOlderClientsRead = (name: string, member: unknown): unknown =>
  name === 'embeddedArtifacts' && Array.isArray(member)
    ? member.map((file: { content?: string | string[] }) =>
        Array.isArray(file?.content) ? { ...file, content: oneBase64(file.content) } : file,
      )
    : member;

/** Copies a document that keeps its own names, such as that of a webhook, with its embedded texts. */
export function withEmbeddedTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withEmbeddedTexts);
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value).map(([name, member]) => [
    name,
    withEmbeddedTexts(asOlderClientsRead(name, member)),
  ]);
  return Object.fromEntries(members);
}

/**
 * Copies the command and its environment into the executor of a task that has one: older clients seek them there, and
 * rely on both.
 */
function asSought(task: unknown): unknown {
  const { executor, command } = (task ?? {}) as { executor?: object; command?: object };
  return executor && command ? { ...(task as object), executor: { ...executor, command } } : task;
}

/** Newer clients say "agent" where the paths and parameters of this API say "slave", and call or seek some things elsewhere. */
const aliases: readonly [RegExp, string][] = [
  [/^\/api\/agents\/agent(?=[/?]|$)/, '/api/slaves/slave'],
  [/^\/api\/agents(?=[/?]|$)/, '/api/slaves'],
  [/^\/api\/usage\/agents(?=[/?]|$)/, '/api/usage/slaves'],
  [/^\/api\/openapi\.json(?=[?]|$)/, '/docs/openapi.json'],
  [/^\/api\/tasks\/active\/agent(?=\/)/, '/api/tasks/active/slave'],
  [/^(\/api\/tasks\/(?:download|open)\/?\?(?:.*&)?)agentHostname(?==)/, '$1slaveHostname'],
];

/** Words of which every alias has one. */
const hasAlias = /agent|openapi/;

export function resolveAlias(url: string): string {
  if (!hasAlias.test(url)) return url;
  const alias = aliases.find(([pattern]) => pattern.test(url));
  return alias ? url.replace(alias[0], alias[1]) : url;
}

/** Serves the older and newer names of a path by one route. */
export function followPathAliases(request: Request, _response: Response, next: NextFunction): void {
  request.url = resolveAlias(request.url);
  next();
}
