import { withinBounds } from '../autoscale/index.js';
import { type ResourceLimits, resourceProblems } from '../deploy-validation/index.js';
import { type FieldError, problem } from '../field-error.js';
import { followProblems } from '../flows/index.js';
import type { DeployTasks, Resources } from '../model/deploy.js';
import { sidecarResources } from '../model/deploy-tasks.js';
import { reservedNameProblem } from '../ids.js';
import { isLongRunning, type RequestType } from '../model/enums.js';
import { instancesOf, type Request } from '../model/request.js';
import { type RecordLimits, sizeProblem } from '../record-size.js';
import { type AutoscaleLimits, autoscaleProblems } from './autoscale-rules.js';
import { runRules } from './run-rules.js';
import {
  pastWindowsProblem,
  readDeployWindows,
  readSchedule,
  resolveTimeZone,
  timingMembers,
  unknownZone,
} from '../schedules/index.js';
import { timingProblems } from './timing-rules.js';

export interface RequestLimits extends ResourceLimits, RecordLimits, AutoscaleLimits {
  maxRequestIdSize: number;
  allowRequestsWithoutOwners: boolean;
  spreadAllSlavesEnabled: boolean;
  /** Absent: there is no load balancer. */
  loadBalancerUri?: string | undefined;
}

interface RequestContext {
  limits: RequestLimits;
  /** The request as it is stored, when this one takes its place. */
  stored?: Request;
  now?: number;
  /** Taken over from an older installation, or sent by its clients: what has no effect is accepted as it was there. */
  isOlder?: boolean;
  /** Resources of its active and of its pending deploy: they are multiplied by the new number of instances. */
  deploys?: readonly { id: string; resources?: Resources; tasks?: DeployTasks }[];
  /** Whether the metric of autoscaling may be asked from a host; absent: from any. */
  mayAskHost?: (host: string) => boolean;
  /** Its number of instances is for a while. */
  isLapsing?: boolean;
}

/** Paths of the API stand in the way of a request of such a name. */
const reservedIds = new Set(['ids', 'batch']);
/** Sent by clients that have no value. A request of such a name that exists is one like others. */
const notGivenWords = new Set(['null', 'undefined']);

type Rule = (request: Request, context: RequestContext) => FieldError[];

/** Everything wrong with a request, in the order in which people should read it. */
export const validateRequest: Rule = (request, context) => rules.flatMap((rule) => rule(request, context));

const rules: readonly Rule[] = [
  ({ id }, { limits, stored }) => {
    if (id === undefined || id === '') return problem('id', 'required', 'id is required');
    if (!/^[a-zA-Z0-9_-]+$/.test(id)) {
      return problem('id', 'pattern', `id '${id}' may have only letters, digits, '_' and '-'`);
    }
    if (id.length > limits.maxRequestIdSize) {
      return problem(
        'id',
        'length',
        `id must be at most ${limits.maxRequestIdSize} characters long (maxRequestIdSize)`,
      );
    }
    if (!stored && notGivenWords.has(id.toLowerCase())) {
      return problem('id', 'reserved', `id '${id}' means "not given" to many clients; choose another`);
    }
    const ofName = stored ? [] : reservedNameProblem('id', id);
    if (ofName.length > 0) return ofName;
    return reservedIds.has(id) ? problem('id', 'reserved', `id '${id}' is a word of this API; choose another`) : [];
  },
  ({ requestType }) => (requestType === undefined ? problem('requestType', 'required', 'requestType is required') : []),
  ({ owners }, { limits }) =>
    !limits.allowRequestsWithoutOwners && !owners?.length ? problem('owners', 'required', 'owners is required') : [],
  (request, { limits, stored }) => [sizeProblem('request', request, limits, stored) ?? []].flat(),
  groupsRule,
  instancesRule,
  ({ taskPriorityLevel: level }) =>
    level !== undefined && (level < 0 || level > 1)
      ? problem('taskPriorityLevel', level < 0 ? 'min' : 'max', 'taskPriorityLevel must be between 0 and 1')
      : [],
  unchangedRule,
  scheduleRule,
  lifetimeRule,
  followProblems,
  restartRule,
  deployWindowsRule,
  autoscaleProblems,
  ({ loadBalanced }, { limits, stored, isOlder }) =>
    loadBalanced && !stored?.loadBalanced && !isOlder && limits.loadBalancerUri === undefined
      ? problem('loadBalanced', 'loadBalancer', 'loadBalanced needs a load balancer, and loadBalancerUri is not set')
      : [],
  ({ maxTasksPerOffer }) =>
    maxTasksPerOffer !== undefined && maxTasksPerOffer <= 0
      ? problem('maxTasksPerOffer', 'min', 'maxTasksPerOffer must be more than 0')
      : [],
  runRules,
  minimumsRule,
  unsupportedRule,
  (request, { deploys, limits }) =>
    (deploys ?? []).flatMap(({ id, resources, tasks }) =>
      resourceProblems(
        resources,
        instancesOf(request),
        limits,
        `resources of deploy '${id}':`,
        sidecarResources(tasks),
      ).map((error) => ({
        field: 'instances',
        rule: error.rule,
        message: `instances: ${error.message}`,
      })),
    ),
];

function deployWindowsRule(request: Request, { stored, now, isOlder }: RequestContext): FieldError[] {
  const { windows, errors } = readDeployWindows(request);
  if (errors.length > 0 || windows.length === 0 || now === undefined || isOlder) return errors;
  return [pastWindowsProblem(request, stored, now) ?? []].flat();
}

/** Groups that it has had may stay. */
function groupsRule(request: Request, { stored }: RequestContext): FieldError[] {
  const had = new Set(stored ? namedGroups(stored).map(([, group]) => group) : []);
  const given = namedGroups(request).filter(([, group]) => !had.has(group));
  return given.flatMap(([field, group]) => reservedNameProblem(field, group));
}

const namedGroups = ({ group, readWriteGroups, readOnlyGroups, actionPermissions }: Request): [string, string][] => [
  ...(group === undefined ? [] : [['group', group] satisfies [string, string]]),
  ...(readWriteGroups ?? []).map((name, index): [string, string] => [`readWriteGroups.${index}`, name]),
  ...(readOnlyGroups ?? []).map((name, index): [string, string] => [`readOnlyGroups.${index}`, name]),
  ...Object.keys(actionPermissions ?? {}).map((name): [string, string] => ['actionPermissions', name]),
];

function instancesRule(
  { requestType, instances, maxScale, slavePlacement, overlapPolicy, autoscale }: Request,
  { limits, stored, isOlder, isLapsing }: RequestContext,
): FieldError[] {
  if (maxScale !== undefined && maxScale <= 0) return problem('maxScale', 'min', 'maxScale must be more than 0');
  if (instances === undefined) return [];
  if (instances <= 0) return problem('instances', 'min', 'instances must be more than 0');
  // One that is stored from before may keep its number, which has no effect.
  const isOnceTaken = requestType === 'RUN_ONCE' && (isOlder || stored?.instances === instances);
  const isSingle = requestType === 'SCHEDULED' && overlapPolicy !== 'ALLOW';
  if ((isSingle || (requestType === 'RUN_ONCE' && !isOnceTaken)) && instances !== 1) {
    return problem('instances', 'single', `instances must be 1 for a ${requestType} request`);
  }
  // A request that follows the number of slaves is not asked for its own.
  if (slavePlacement === 'SPREAD_ALL_SLAVES') return [];
  if (maxScale !== undefined && isLongRunning(requestType) && instances > maxScale) {
    return problem(
      'instances',
      'maxScale',
      `instances must be at most ${maxScale}, the maxScale of the request, not ${instances}`,
    );
  }
  const most = limits.maxNumInstancesPerRequest;
  if (instances > most) {
    const message = `instances must be at most ${most} (cluster.maxNumInstancesPerRequest), not ${instances}`;
    return problem('instances', 'max', message);
  }
  // A person may leave the bounds for a while, and other changes keep what is so.
  if (!autoscale || isLapsing || (stored?.autoscale && instances === stored.instances)) return [];
  const { min, max } = autoscale;
  const message = `instances must be within autoscale, ${min} to ${max}, not ${instances}; a scale with durationMillis need not be`;
  return min <= max && withinBounds(autoscale, instances) !== instances
    ? problem('instances', 'autoscale', message)
    : [];
}

/** Fields that tasks and load balancer rely on for the whole life of a request. */
function unchangedRule(request: Request, { stored }: RequestContext): FieldError[] {
  if (!stored || request.requestType === undefined) return [];
  const errors: FieldError[] = [];
  const { requestType } = request;
  const mayChangeType =
    isLongRunning(stored.requestType) && isLongRunning(requestType) && !stored.loadBalanced && !request.loadBalanced;
  if (stored.requestType !== requestType && !mayChangeType) {
    const message = `requestType of '${request.id}' is ${stored.requestType} and cannot become ${requestType}`;
    errors.push(...problem('requestType', 'unchanged', message));
  }
  if ((stored.loadBalanced ?? false) !== (request.loadBalanced ?? false)) {
    const message = `loadBalanced of '${request.id}' is ${stored.loadBalanced ?? false} and cannot change`;
    errors.push(...problem('loadBalanced', 'unchanged', message));
  }
  return errors;
}

function scheduleRule(request: Request, around: RequestContext): FieldError[] {
  if (request.requestType === undefined) return [];
  if (request.requestType === 'SCHEDULED') return timingProblems(request, around);
  const zone = request.scheduleTimeZone;
  // A zone says nothing without a schedule, and always was accepted.
  const own = timingMembers.filter((member) => member !== 'scheduleTimeZone');
  return [
    ...own.flatMap((field) => notFor(request, field)),
    ...(zone !== undefined && resolveTimeZone(zone) === undefined
      ? problem('scheduleTimeZone', 'timeZone', `scheduleTimeZone ${unknownZone(zone)}`)
      : []),
  ];
}

/** Fields that make sense only for tasks that end, or only for tasks that do not. */
const onlyForJobs = [
  'numRetriesOnFailure',
  'killOldNonLongRunningTasksAfterMillis',
  'taskExecutionTimeLimitMillis',
  'retry',
  'pauseAfterFailures',
  'concurrencyGroup',
] as const;

function lifetimeRule(request: Request): FieldError[] {
  if (request.requestType === undefined) return [];
  if (!isLongRunning(request.requestType)) {
    return (['loadBalanced', 'rackSensitive'] as const).flatMap((field) =>
      request[field] ? notFor(request, field) : [],
    );
  }
  return onlyForJobs.flatMap((field) => notFor(request, field));
}

/** Delays are for what is always kept running. */
function restartRule(request: Request): FieldError[] {
  const { requestType, restart } = request;
  if (!restart || requestType === undefined) return [];
  if (!isLongRunning(requestType)) return notFor(request, 'restart');
  const { initialDelayMillis: first, maxDelayMillis: longest } = restart;
  const isLonger = first !== undefined && longest !== undefined && first > longest;
  return isLonger
    ? problem(
        'restart.maxDelayMillis',
        'range',
        `restart.maxDelayMillis must be at least initialDelayMillis, which is ${first}`,
      )
    : [];
}

function minimumsRule({ slaveAttributeMinimums }: Request): FieldError[] {
  return Object.entries(slaveAttributeMinimums ?? {}).flatMap(([name, minimums]) =>
    Object.entries(minimums).flatMap(([value, percent]) => {
      const field = `slaveAttributeMinimums.${name}.${value}`;
      if (percent < 0) return problem(field, 'min', `${field} is a percentage: at least 0`);
      return percent > 100 ? problem(field, 'max', `${field} is a percentage: at most 100`) : [];
    }),
  );
}

/** Fields that would have to be ignored. */
function unsupportedRule({ slavePlacement, requiredRole }: Request, { limits }: RequestContext): FieldError[] {
  const errors: FieldError[] = [];
  if (slavePlacement === 'SPREAD_ALL_SLAVES' && !limits.spreadAllSlavesEnabled) {
    errors.push(...problem('slavePlacement', 'supported', 'slavePlacement SPREAD_ALL_SLAVES is not enabled'));
  }
  if (requiredRole !== undefined && requiredRole !== '*') {
    errors.push(...problem('requiredRole', 'supported', 'requiredRole is not supported: machines have no roles here'));
  }
  return errors;
}

const notFor = (request: Request, field: keyof Request): FieldError[] =>
  request[field] === undefined
    ? []
    : problem(field, 'notAllowed', `${field} is not allowed for a ${request.requestType} request`);

/**
 * The request as it is stored: what was sent, with the Quartz form of its schedule beside it. `stored`: the request whose
 * place it takes.
 */
export function normalizeRequest(request: Request, stored?: Request): Request {
  if (request.requestType !== 'SCHEDULED' || request.schedules !== undefined) return request;
  const asked = sendsOldQuartzBack(request, stored) ? { ...request, quartzSchedule: undefined } : request;
  const read = readSchedule(asked);
  if ('errors' in read || read.type === 'RFC5545') return asked;
  return { ...asked, quartzSchedule: read.quartz };
}

/** Clients change the schedule and send all other members as they were answered, the derived expression among them. */
function sendsOldQuartzBack({ schedule, scheduleType, quartzSchedule }: Request, stored: Request | undefined): boolean {
  if (!stored || schedule === undefined || quartzSchedule === undefined) return false;
  if (quartzSchedule !== stored.quartzSchedule) return false;
  if (schedule === stored.schedule && scheduleType === stored.scheduleType) return false;
  const derived = readSchedule({ ...stored, quartzSchedule: undefined });
  return 'quartz' in derived && derived.quartz === quartzSchedule;
}

/** Very old clients send `daemon` in place of a type. Without it a missing type stays missing, which is an error. */
export function readLegacyType(sent: {
  requestType?: RequestType;
  daemon?: boolean;
  schedule?: string;
  quartzSchedule?: string;
  loadBalanced?: boolean;
}): RequestType | undefined {
  if (sent.requestType !== undefined || sent.daemon === undefined) return sent.requestType;
  if (sent.schedule !== undefined || sent.quartzSchedule !== undefined) return 'SCHEDULED';
  if (!sent.daemon) return 'ON_DEMAND';
  return sent.loadBalanced ? 'SERVICE' : 'WORKER';
}
