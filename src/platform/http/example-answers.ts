import type { OpenAPIObject } from '@nestjs/swagger';
import { exampleFile } from './examples.js';

interface Schema {
  $ref?: string;
  allOf?: Schema[];
  oneOf?: Schema[];
  type?: string;
  format?: string;
  description?: string;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  items?: Schema;
  required?: string[];
  writeOnly?: boolean;
  properties?: Record<string, Schema>;
}

const at = Date.UTC(2026, 0, 1);
const host = { host: 'localhost', sanitizedHost: 'localhost', rackId: 'rack1', sanitizedRackId: 'rack1' };
const task = { requestId: 'web', deployId: 'v1', startedAt: at, instanceNo: 1, ...host };
const taskId = `web-v1-${at}-1-localhost-rack1`;
const place = { deployId: 'v1', instanceNo: 1, host: 'localhost', slaveId: 'slave1', rackId: 'rack1' };
const pending = { requestId: 'web', deployId: 'v1', nextRunAt: at, instanceNo: 1, createdAt: at };

/** Records as the service answers them when the example `web` is deployed, by the names of their schemas. */
const records: Readonly<Record<string, () => unknown>> = {
  RequestDto: () => exampleFile('request'),
  DeployDto: () => ({ id: 'v1', ...(exampleFile('deploy-v1') as { deploy?: object }).deploy }),
  TaskIdDto: () => ({ id: taskId, ...task }),
  PendingTaskIdDto: () => ({ id: `web-v1-${at}-1-NEW_DEPLOY-${at}`, ...pending, pendingType: 'NEW_DEPLOY' }),
  DeployMarkerDto: () => ({ requestId: 'web', deployId: 'v1', timestamp: at, message: 'the first version' }),
  AuditEntryDto: () => ({
    at,
    caller: 'ada',
    issuer: 'muster',
    provenBy: 'TOKEN',
    address: '127.0.0.1',
    operation: 'POST /api/requests/request/:requestId/run',
    path: '/api/requests/request/web/run',
    requestId: 'web',
    outcome: 'ALLOWED',
    status: 200,
    callId: '0b8f4c1e-6a52-4d4e-9f0b-2f6f6f0f2a11',
  }),
  FlowRunDto: () => ({
    flowId,
    requestId: 'web',
    runId: 'first',
    state: 'SUCCESS',
    parentRuns: [],
    createdAt: at,
    taskId,
  }),
  FlowEdgeDto: () => ({ requestId: 'report', parentId: 'web', on: 'SUCCESS' }),
  EndpointDto: () => ({ taskId, ...place, ports: [31_000], port: 31_000, healthySince: at }),
  RequestGroupDto: () => ({ id: 'shop', requestIds: ['web'], metadata: {} }),
  WebhookDto: () => ({ id: webhookId, type: 'TASK', uri: 'https://example.com/hook', timestamp: at }),
  ClusterFileChunkObjectDto: () => ({ data: 'version 1 listens on 31000\n', offset: 0, nextOffset: 27 }),
};
const flowId = '0b8f4c1e-6a52-4d4e-9f0b-2f6f6f0f2a11';
const webhookId = 'TASK-https%3A%2F%2Fexample.com%2Fhook';

/** Ids and names of records that are called by a member `id` or `name`. */
const ids: Readonly<Record<string, string>> = {
  SlaveDto: 'slave1',
  SlaveUsageWithIdDto: 'slave1',
  RackDto: 'rack1',
  TokenInfoDto: '3f9a1c52e07b',
  UserDto: 'ada',
  DeployPlanDto: 'v1',
  FlowDto: flowId,
};

/** The member of each enumeration that is met most. */
const usual: Readonly<Record<string, string>> = {
  TaskState: 'TASK_RUNNING',
  PendingType: 'NEW_DEPLOY',
  TaskCleanupType: 'USER_REQUESTED',
  WaitingReason: 'NO_MATCHING_SLAVE',
  RejectionReason: 'NOT_ENOUGH_MEMORY',
  MachineState: 'ACTIVE',
};

/** Values of texts by the names of their members. Those that are optional and not listed here are left out. */
const texts: Readonly<Record<string, string>> = {
  action: 'BOUNCE_REQUEST',
  actionId: '1f0c8a52',
  activeDeployId: 'v1',
  checkIndex: '3f9a1c52e07b',
  cmd: 'node',
  currentDirectory: '',
  data: 'version 1 listens on 31000\n',
  deployId: 'v1',
  directory: '/var/lib/muster/agent/sandboxes/web-v1-1767225600000-1-localhost-rack1',
  driver: 'local',
  driverStatus: 'DRIVER_RUNNING',
  error: 'connect ECONNREFUSED 127.0.0.1:8080',
  fullPathToRoot: '/var/lib/muster/agent/sandboxes/web-v1-1767225600000-1-localhost-rack1',
  getUrl: 'https://store.example.com/logs/web/v1/stdout.gz',
  host: 'localhost',
  hostAddress: '127.0.0.1:7099',
  hostname: 'localhost',
  id: 'web',
  issuer: 'https://login.example.com',
  key: 'web/v1/stdout.gz',
  leader: '127.0.0.1:7099',
  local: '2026-01-01T00:00:00+00:00',
  lookAtFirst: 'muster logs web --stderr',
  machineId: 'slave1',
  madeBy: 'ada',
  message: 'as agreed',
  mode: '-rw-r--r--',
  name: 'web',
  objectId: 'slave1',
  path: 'resources.memoryMb',
  rackId: 'rack1',
  requestId: 'web',
  rolledBackTo: 'v1',
  sanitizedHost: 'localhost',
  sanitizedRackId: 'rack1',
  scope: 'WRITE',
  slaveHostname: 'localhost',
  slaveId: 'slave1',
  status: 'UP',
  timeZone: 'UTC',
  title: 'Restarted by hand',
  token: 'muster_3f9a1c52e07b_AbCdEf',
  type: 'DEPLOY',
  updateKey: 'web-v1-1767225600000',
  uri: 'https://example.com/hook',
  user: 'ada',
  userId: 'ada',
  userName: 'ada',
  utc: '2026-01-01T00:00:00Z',
  value: '1',
  version: '1',
  webhookId,
};

/** Members that tell more of a record although they are optional, and members without which it would contradict itself. */
const shownAlso: Readonly<Record<string, readonly string[]>> = {
  RequestParentDto: ['requestDeployState', 'taskIds'],
  DeployHistoryDto: ['deployResult'],
  AppliedDto: ['request', 'deploy'],
  TaskIdHistoryDto: ['lastTaskState'],
  SlaveDto: ['resources'],
};
const leftOut: Readonly<Record<string, readonly string[]>> = {
  RequestParentDto: ['activeDeploy', 'pendingDeploy'],
  RequestDeployStateDto: ['pendingDeploy'],
  PendingDeployDto: ['updatedRequest'],
};

/** Values without which a record would contradict itself, by the names of record and member. */
const values: Readonly<Record<string, unknown>> = {
  'DeployResultDto.message': 'All 3 tasks are healthy',
  'EventDto.message': 'Exit code 1',
  'PendingDeployDto.currentDeployState': 'WAITING',
  'PlannedStopDto.cleanupType': 'NEW_DEPLOY_SUCCEEDED',
  'TaskExplanationDto.fitting': 0,
  'TaskExplanationDto.message':
    'No slave of 1 can take it: 1 without enough free memory (the task asks for 64 MB; 32 MB are free)',
  'TaskExplanationDto.neverFits': false,
  'PlannedFitDto.reason': 'PLACEABLE',
  'PlannedFitDto.message': 'Fits on 1 of 1 slaves',
  'PlannedFitDto.rejections': [],
};

/** Values of lists by the names of their members. */
const lists: Readonly<Record<string, unknown[]>> = {
  ...Object.fromEntries(
    [
      'notYetHealthy',
      'pending',
      'cleaning',
      'loadBalanced',
      'killed',
      'deployFailures',
      'healthcheckResults',
      'notes',
      'changes',
    ]
      .concat([
        'loadBalancerUpdates',
        'shellCommandHistory',
        'taskMetadata',
        'failingPollers',
        'disabledPollers',
        'listLateTasks',
        'onDemandListLateTasks',
        'degraded',
        'missing',
      ])
      .map((name) => [name, []]),
  ),
  requestIds: ['web'],
  starredRequestIds: ['web'],
  groups: ['shop'],
  scopes: ['READ', 'WRITE'],
  arguments: ['--verbose'],
  commandLineArgs: ['Ada', 'Grace'],
};

/** Entries of lists that are the whole answer: ids of requests. */
const plainTexts = ['web', 'greet'];

/** An answer of an operation in values of the README's tour: what a page makes of types alone shows nobody what to expect. */
export class AnswerExamples {
  constructor(private readonly document: OpenAPIObject) {}

  /** undefined: the answer is no JSON that can be shown. */
  of(schema: Schema): unknown {
    return this.value(schema, '', []);
  }

  private value(given: Schema, name: string, within: readonly string[]): unknown {
    const [schemaName, schema] = this.resolved(given);
    if (Object.hasOwn(records, schemaName)) return records[schemaName]!();
    if (schema.enum) {
      const word = usual[schemaName] ?? texts[name];
      return schema.enum.includes(word) ? word : schema.enum[0];
    }
    switch (schema.type) {
      case 'boolean':
        return true;
      case 'integer':
      case 'number':
        return numberOf(schema, given, name);
      case 'string':
        return textOf(schema, name, within.at(-1));
      case 'array':
        return this.list(schema, name, within);
      default:
        return schema.properties ? this.record(schemaName, schema, within) : (this.first(schema, name, within) ?? {});
    }
  }

  private list({ items = {} }: Schema, name: string, within: readonly string[]): unknown[] {
    if (name !== '' && Object.hasOwn(lists, name)) return lists[name]!;
    const [itemName, item] = this.resolved(items);
    if (within.includes(itemName)) return [];
    if (item.type === 'string' && !item.enum) return name === '' && within.length === 0 ? plainTexts : [];
    return [this.value(items, '', within)];
  }

  private record(name: string, { properties = {}, required = [] }: Schema, within: readonly string[]): unknown {
    const path = [...within, name];
    const isShown = (member: string, schema: Schema): boolean => {
      const [memberName, { type, enum: words }] = this.resolved(schema);
      if (required.includes(member) || shownAlso[name]?.includes(member)) return true;
      if (leftOut[name]?.includes(member)) return false;
      if (schema.writeOnly || path.includes(memberName)) return false;
      return Object.hasOwn(records, memberName) || (type === 'string' && !words && Object.hasOwn(texts, member));
    };
    const shown = Object.entries(properties).filter(([member, schema]) => isShown(member, schema));
    const valueOf = (member: string, schema: Schema): unknown => {
      const key = `${name}.${member}`;
      return Object.hasOwn(values, key) ? values[key] : this.value(schema, member, path);
    };
    return Object.fromEntries(shown.map(([member, schema]) => [member, valueOf(member, schema)]));
  }

  private first({ oneOf }: Schema, name: string, within: readonly string[]): unknown {
    return oneOf?.[0] && this.value(oneOf[0], name, within);
  }

  private resolved(schema: Schema): [name: string, schema: Schema] {
    const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
    if (reference === undefined) return ['', schema];
    const name = reference.split('/').at(-1)!;
    return [name, (this.document.components?.schemas?.[name] as Schema | undefined) ?? schema];
  }
}

/** Counts of what is not there where all is well. */
const none =
  /dead|late|cooldown|paused|lost|unknown|decom|fail|pending|clean|launching|future|lag|under|over|oldest|errors|skipped|retries/i;

function numberOf(
  { type, minimum = 0, maximum = Infinity }: Schema,
  { description = '' }: Schema,
  name: string,
): number {
  const isTime = /epoch milliseconds/i.test(description);
  const wanted = isTime ? at : none.test(name) ? 0 : type === 'integer' ? 1 : 0.5;
  return Math.min(Math.max(wanted, minimum), maximum);
}

const textOf = ({ format }: Schema, name: string, record = ''): string => {
  if (name === 'id' && Object.hasOwn(ids, record)) return ids[record]!;
  if (format === 'date-time') return new Date(at).toISOString();
  return texts[name] ?? 'text';
};
