import { resourceProblems, type ResourceLimits } from '../deploy-validation/index.js';
import type { FieldError } from '../field-error.js';
import { isLongRunning } from '../model/enums.js';
import type { Resources } from '../model/deploy.js';
import type { Request } from '../model/request.js';
import { readSchedule, resolveTimeZone } from '../schedules/index.js';

export interface RequestLimits extends ResourceLimits {
  maxRequestIdSize: number;
  allowRequestsWithoutOwners: boolean;
  maxNumInstancesPerRequest: number;
  spreadAllSlavesEnabled: boolean;
}

export interface RequestSurroundings {
  limits: RequestLimits;
  /** The request as it is stored, when this one takes its place. */
  stored?: Request;
  /** Resources of its active and of its pending deploy: they are multiplied by the new number of instances. */
  deploys?: readonly { id: string; resources?: Resources }[];
}

/** How many tasks a request wants: one unless it says otherwise. */
export const instancesOf = (request: Pick<Request, 'instances'>): number => request.instances ?? 1;

/** Paths of the API stand in the way of a request of such a name. */
const reservedIds = new Set(['ids', 'batch']);

type Rule = (request: Request, around: RequestSurroundings) => FieldError[];

/** Everything wrong with a request, in the order in which people should read it. */
export const validateRequest: Rule = (request, around) => rules.flatMap((rule) => rule(request, around));

const rules: readonly Rule[] = [
  ({ id }, { limits }) => {
    if (id === undefined || id === '') return problem('id', 'required', 'id is required');
    if (!/^[a-zA-Z0-9_-]+$/.test(id)) {
      return problem('id', 'pattern', `id '${id}' may have only letters, digits, '_' and '-'`);
    }
    if (id.length > limits.maxRequestIdSize) {
      return problem('id', 'length', `id must be at most ${limits.maxRequestIdSize} characters long`);
    }
    return reservedIds.has(id) ? problem('id', 'reserved', `id '${id}' is a word of this API; choose another`) : [];
  },
  ({ requestType }) => (requestType === undefined ? problem('requestType', 'required', 'requestType is required') : []),
  ({ owners }, { limits }) =>
    !limits.allowRequestsWithoutOwners && !owners?.length ? problem('owners', 'required', 'owners is required') : [],
  instancesRule,
  ({ taskPriorityLevel: level }) =>
    level !== undefined && (level < 0 || level > 1)
      ? problem('taskPriorityLevel', level < 0 ? 'min' : 'max', 'taskPriorityLevel must be between 0 and 1')
      : [],
  unchangedRule,
  scheduleRule,
  lifetimeRule,
  ({ maxTasksPerOffer }) =>
    maxTasksPerOffer !== undefined && maxTasksPerOffer <= 0
      ? problem('maxTasksPerOffer', 'min', 'maxTasksPerOffer must be more than 0')
      : [],
  minimumsRule,
  unsupportedRule,
  (request, { deploys, limits }) =>
    (deploys ?? []).flatMap(({ id, resources }) =>
      resourceProblems(resources, instancesOf(request), limits, `resources of deploy '${id}':`).map((error) => ({
        field: 'instances',
        rule: error.rule,
        message: `instances: ${error.message}`,
      })),
    ),
];

function instancesRule(
  { requestType, instances, slavePlacement }: Request,
  { limits }: RequestSurroundings,
): FieldError[] {
  if (instances === undefined) return [];
  if (instances <= 0) return problem('instances', 'min', 'instances must be more than 0');
  if (requestType === 'SCHEDULED' && instances !== 1) {
    return problem('instances', 'single', 'instances must be 1 for a SCHEDULED request');
  }
  // Nobody asks for the number of a request that follows that of the slaves.
  if (slavePlacement === 'SPREAD_ALL_SLAVES') return [];
  const most = limits.maxNumInstancesPerRequest;
  return instances > most ? problem('instances', 'max', `instances must be at most ${most}, not ${instances}`) : [];
}

/** What tasks and load balancer rely on for the whole life of a request. */
function unchangedRule(request: Request, { stored }: RequestSurroundings): FieldError[] {
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

function scheduleRule(request: Request): FieldError[] {
  if (request.requestType === 'SCHEDULED') {
    const read = readSchedule(request);
    return 'errors' in read ? read.errors : [];
  }
  const zone = request.scheduleTimeZone;
  return [
    ...(['schedule', 'quartzSchedule', 'scheduleType'] as const).flatMap((field) => notFor(request, field)),
    ...(zone !== undefined && resolveTimeZone(zone) === undefined
      ? problem('scheduleTimeZone', 'timeZone', `scheduleTimeZone '${zone}' is not a known time zone`)
      : []),
  ];
}

/** Fields that make sense only for tasks that end, or only for tasks that do not. */
function lifetimeRule(request: Request): FieldError[] {
  if (request.requestType === undefined) return [];
  if (!isLongRunning(request.requestType)) {
    return (['loadBalanced', 'rackSensitive'] as const).flatMap((field) =>
      request[field] ? notFor(request, field) : [],
    );
  }
  return (
    ['numRetriesOnFailure', 'killOldNonLongRunningTasksAfterMillis', 'taskExecutionTimeLimitMillis'] as const
  ).flatMap((field) => notFor(request, field));
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
function unsupportedRule({ slavePlacement, requiredRole }: Request, { limits }: RequestSurroundings): FieldError[] {
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

const problem = (field: string, rule: string, message: string): FieldError[] => [{ field, rule, message }];
