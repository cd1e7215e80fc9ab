import { readFileSync } from 'node:fs';
import type { OpenAPIObject } from '@nestjs/swagger';

interface Schema {
  $ref?: string;
  allOf?: Schema[];
  type?: string;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  required?: string[];
  properties?: Record<string, Schema>;
}

/** From the sources and from the build. */
const roots = ['../../../', '../../../../'];

/** A file of the repository as JSON; undefined: it was not installed. */
function readRepositoryFile(path: string): unknown {
  for (const root of roots) {
    try {
      return JSON.parse(readFileSync(new URL(root + path, import.meta.url), 'utf8'));
    } catch {
      continue;
    }
  }
  return undefined;
}

export function versionOfPackage(): string {
  return (readRepositoryFile('package.json') as { version?: string } | undefined)?.version ?? 'unknown';
}

/** A file of examples/web, which the tour of the README sends. */
export const exampleFile = (name: string): object =>
  (readRepositoryFile(`examples/web/${name}.json`) as object | undefined) ?? {};
/** The files have no ids of deploys: no id can be used again, and `muster apply` makes them. */
function deployExample(name: string, id: string): object {
  const { deploy } = exampleFile(name) as { deploy?: object };
  return { deploy: { id, ...deploy } };
}

/** Files of examples/, which the tour of the README sends, and bodies that say more than what is required. */
const files: Readonly<Record<string, () => object>> = {
  'post /api/requests': () => exampleFile('request'),
  'post /api/requests/apply': () => ({ request: exampleFile('request'), ...exampleFile('deploy-v1') }),
  'post /api/deploys': () => deployExample('deploy-v1', 'v1'),
  'post /api/deploys/plan': () => deployExample('deploy-v2', 'v2'),
};
const bodies: Readonly<Record<string, unknown>> = {
  'put /api/requests/request/{requestId}/scale': { instances: 4, message: 'more of them' },
  'post /api/requests/request/{requestId}/scale/plan': { instances: 4 },
  'put /api/requests/request/{requestId}/priority': { priority: 0.8, durationMillis: 3_600_000, message: 'launch day' },
  'put /api/requests/request/{requestId}/skip-healthchecks': { skipHealthchecks: true, durationMillis: 600_000 },
  'put /api/requests/request/{requestId}/skipHealthchecks': { skipHealthchecks: true, durationMillis: 600_000 },
  'post /api/requests/request/{requestId}/groups': { group: 'web', readOnlyGroups: ['support'] },
  'post /api/requests/request/{requestId}/groups/auth-check': { group: 'web' },
  'post /api/requests/request/{requestId}/run': { commandLineArgs: ['Ada', 'Grace'], runId: 'first' },
  'post /api/requests/request/{requestId}/pause': { killTasks: false, durationMillis: 600_000, message: 'month end' },
  'post /api/requests/request/{requestId}/bounce': { incremental: true, message: 'new certificates' },
  'put /api/users/settings/preferences': { preferences: { views: [] } },
  'post /api/users/settings': { starredRequestIds: ['web'] },
  'post /api/users/settings/starred-requests': { starredRequestIds: ['web'] },
  'delete /api/users/settings/starred-requests': { starredRequestIds: ['web'] },
  'post /api/webhooks': { type: 'TASK', uri: 'https://example.com/hook/$REQUEST_ID' },
  'post /api/priority/freeze': { minimumPriorityLevel: 0.5, killTasks: false, message: 'room for the launch' },
  'post /api/schedules/preview': { schedule: '0 3 * * *', scheduleTimeZone: 'Europe/Paris', count: 5 },
  'post /api/logs/search': { requestsAndDeploys: { web: ['v1'] } },
};

/** Meanings of the names of parameters, which are equal everywhere, and values that fit what examples/ deploy. */
export const parameters: Readonly<Record<string, { means: string; example?: unknown }>> = {
  action: { means: 'The action.' },
  commandName: { means: 'Name of the shell command, with or without its slashes.', example: 'jstack' },
  commandTimestamp: { means: 'When it was queued, in epoch milliseconds.', example: 1_767_225_600_000 },
  requestGroupId: { means: 'Id of the group.', example: 'shop' },
  requestId: { means: 'Id of the request.', example: 'web' },
  deployId: { means: 'Id of the deploy.', example: 'v1' },
  backfillId: { means: 'Id of the backfill.', example: '7c1e5a52-0b8f-4d4e-9f0b-2f6f6f0f2a11' },
  flowId: { means: 'Id of the flow, which all its runs have.', example: '0b8f4c1e-6a52-4d4e-9f0b-2f6f6f0f2a11' },
  runId: { means: 'Id of the run, given when it was asked for or made up then.', example: 'first' },
  taskId: { means: 'Id of the task.', example: 'web-v1-1767225600000-1-localhost-rack1' },
  tokenId: { means: 'Id of the token.', example: '3f9a1c52e07b' },
  taskState: { means: 'State of the task, such as TASK_LOST.' },
  pendingTaskId: { means: 'Id of the pending task.', example: 'web-v1-1767225600000-1-NEW_DEPLOY-1767225600000' },
  scheduledTaskId: { means: 'Id of the pending task.', example: 'web-v1-1767225600000-1-NEW_DEPLOY-1767225600000' },
  slaveId: { means: 'Id of the slave.', example: 'slave1' },
  slaveHostname: { means: 'Host of the slave.', example: 'localhost' },
  rackId: { means: 'Id of the rack.', example: 'rack1' },
  type: { means: 'The kind of disaster.' },
  user: { means: 'Name of the user.', example: 'ada' },
  userId: { means: 'Id of the user.', example: 'ada' },
  webhookId: { means: 'Id of the webhook.', example: 'TASK-https%3A%2F%2Fexample.com%2Fhook' },
  path: { means: 'Path in the sandbox.', example: 'web-v1-1767225600000-1-localhost-rack1/stdout' },
  host: { means: 'Name of the host.', example: 'localhost' },
  requestIdLike: { means: 'What ids of requests begin with.', example: 'we' },
  bucket: { means: 'The bucket of the object.', example: 'logs' },
  key: { means: 'The key of the object.', example: 'web/v1/stdout.gz' },
  expires: { means: 'Until when the link holds, in epoch milliseconds.', example: 1_767_225_600_000 },
  signature: { means: 'As the service has made it.', example: 'Zm9yIGV4YW1wbGU' },
  uiPath: { means: 'The setting ui.path.', example: 'ui' },
};

/** Values for members that are required and have no value of their own. */
const words: Readonly<Record<string, unknown>> = {
  id: 'web',
  requestId: 'web',
  deployId: 'v1',
  requestIds: ['web'],
  host: 'host1',
  message: 'why',
  command: 'sleep 100',
};

/** A body that can be sent: members that only may be there would have made-up values in it. */
export function exampleBody(operation: string, schema: object, document: OpenAPIObject): unknown {
  return files[operation]?.() ?? bodies[operation] ?? valueOf(schema, document);
}

function valueOf(given: Schema, document: OpenAPIObject): unknown {
  const schema = resolved(given, document);
  if (schema.enum) return schema.enum[0];
  if (schema.type === 'array') return [];
  if (schema.type === 'boolean') return true;
  if (schema.type === 'integer' || schema.type === 'number') {
    return Math.min(Math.max(schema.minimum ?? 1, 1), schema.maximum ?? 1);
  }
  if (schema.type === 'string') return 'text';
  const { properties = {}, required = [] } = schema;
  const named = required.map((name) => [name, words[name] ?? valueOf(properties[name] ?? {}, document)] as const);
  const why = 'message' in properties && !required.includes('message') ? [['message', 'why'] as const] : [];
  return Object.fromEntries([...named, ...why]);
}

function resolved(schema: Schema, { components }: OpenAPIObject): Schema {
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
  const found = reference && components?.schemas?.[reference.split('/').at(-1)!];
  return (found as Schema | undefined) ?? schema;
}
