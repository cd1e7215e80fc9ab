import fc from 'fast-check';
import type { Request } from '../../../src/core/model/request.js';
import type { RequestType, SlavePlacement } from '../../../src/core/model/enums.js';

/** Behaviour of the tasks of a deploy; written into the deploy's command, where the simulated machines read it. */
export type Behaviour =
  | 'run for ever'
  | 'end after 300 ms'
  | 'end after 9000 ms'
  | 'end after 45000 ms'
  | 'fail after 200 ms'
  | 'fail after 20000 ms'
  | 'find a port taken'
  | 'be refused';

export interface DeployPlan {
  behaviour: Behaviour;
  cpus: number;
  memoryMb: number;
  numPorts: number;
  /** Instances per step; absent: all at once. */
  perStep?: number;
  maxTaskRetries?: number;
  /** The most instances that may be missing; absent: new tasks start before old ones end. */
  oldFirst?: number;
}

export interface RequestPlan {
  request: Omit<Request, 'id'>;
  deploy: DeployPlan;
}

export interface MachinePlan {
  rackId: string;
  attributes: Record<string, string>;
  cpus: number;
  memoryMb: number;
  ports: number;
}

/** The world before anything happens. */
export interface WorldPlan {
  seed: number;
  /** Seconds in which nothing goes wrong, before the first step. */
  quietSeconds: number;
  machines: MachinePlan[];
  requests: RequestPlan[];
}

const anyMachine: fc.Arbitrary<MachinePlan> = fc.record({
  rackId: fc.constantFrom('rack-a', 'rack-b'),
  attributes: fc.constantFrom<Record<string, string>[]>({}, { zone: 'east' }, { zone: 'west' }, { reserved: 'yes' }),
  cpus: fc.constantFrom(2, 4, 8),
  memoryMb: fc.constantFrom(512, 2_048, 8_192),
  ports: fc.constantFrom(0, 2, 20),
});

const placements: readonly SlavePlacement[] = [
  'GREEDY',
  'OPTIMISTIC',
  'SEPARATE',
  'SEPARATE_BY_DEPLOY',
  'SEPARATE_BY_REQUEST',
  'SPREAD_ALL_SLAVES',
];

const schedules = ['*/5 * * * * ?', '0 * * * * ?', '30 */2 * * * ?'] as const;
const longRunning: readonly Behaviour[] = [
  'run for ever',
  'run for ever',
  'run for ever',
  'fail after 200 ms',
  'fail after 20000 ms',
  'end after 9000 ms',
  'find a port taken',
  'be refused',
];
const shortLived: readonly Behaviour[] = [
  'end after 300 ms',
  'end after 9000 ms',
  'end after 45000 ms',
  'fail after 200 ms',
  'fail after 20000 ms',
  'find a port taken',
];
const isLong = (type: RequestType) => type === 'SERVICE' || type === 'WORKER';

export const anyDeploy = (type: RequestType): fc.Arbitrary<DeployPlan> =>
  fc.record({
    behaviour: fc.constantFrom(...(isLong(type) ? longRunning : shortLived)),
    cpus: fc.constantFrom(0.1, 0.5, 1),
    memoryMb: fc.constantFrom(64, 256),
    numPorts: fc.constantFrom(0, 0, 1, 2),
    perStep: isLong(type) ? fc.constantFrom(undefined, undefined, 1, 2) : fc.constant(undefined),
    maxTaskRetries: isLong(type) ? fc.constantFrom(undefined, 2) : fc.constant(undefined),
    oldFirst: isLong(type) ? fc.constantFrom(undefined, 1, 1, 2) : fc.constant(undefined),
  });

const placing = {
  slavePlacement: fc.constantFrom(undefined, ...placements),
  requiredSlaveAttributes: fc.constantFrom(undefined, undefined, { zone: 'east' }),
  allowedSlaveAttributes: fc.constantFrom<(Record<string, string> | undefined)[]>(
    undefined,
    undefined,
    { reserved: 'yes' },
    { zone: 'west' },
  ),
  rackAffinity: fc.constantFrom<(string[] | undefined)[]>(undefined, undefined, undefined, ['rack-a']),
};

function anyRequestOf(requestType: RequestType): fc.Arbitrary<Omit<Request, 'id'>> {
  switch (requestType) {
    case 'SERVICE':
    case 'WORKER':
      return fc.record({
        requestType: fc.constant(requestType),
        instances: fc.integer({ min: 1, max: 3 }),
        rackSensitive: fc.constantFrom(undefined, undefined, true),
        slaveAttributeMinimums: fc.constantFrom(undefined, undefined, undefined, { zone: { east: 50 } }),
        allowBounceToSameHost: fc.constantFrom(undefined, true),
        ...placing,
      });
    case 'SCHEDULED':
      return fc.record({
        requestType: fc.constant(requestType),
        quartzSchedule: fc.constantFrom(...schedules),
        numRetriesOnFailure: fc.constantFrom(undefined, 0, 2),
        ...placing,
      });
    case 'ON_DEMAND':
      return fc.record({
        requestType: fc.constant(requestType),
        instances: fc.constantFrom(undefined, 1, 2),
        numRetriesOnFailure: fc.constantFrom(undefined, 1),
        ...placing,
      });
    case 'RUN_ONCE':
      return fc.record({ requestType: fc.constant(requestType), ...placing });
  }
}

export const anyRequest = (types: readonly RequestType[]): fc.Arbitrary<RequestPlan> =>
  fc
    .constantFrom(...types)
    .chain((type) => fc.record({ request: anyRequestOf(type), deploy: anyDeploy(type) }))
    .map(({ request, deploy }) => ({ request: satisfiable(withoutGaps(request)), deploy: withoutGaps(deploy) }));

export const anyWorld = (types: readonly RequestType[]): fc.Arbitrary<WorldPlan> =>
  fc.record({
    seed: fc.nat(),
    quietSeconds: fc.constantFrom(0, 8, 8, 8),
    machines: fc.array(anyMachine, { minLength: 1, maxLength: 5 }),
    requests: fc.array(anyRequest(types), { minLength: 1, maxLength: 3 }),
  });

/** Evenly over all racks, and on one of them only: more than one instance could never be placed. */
function satisfiable(request: Omit<Request, 'id'>): Omit<Request, 'id'> {
  const { rackAffinity: _, ...anywhere } = request;
  return request.rackSensitive ? anywhere : request;
}

/** Members that are absent rather than undefined, as they come out of JSON. */
const withoutGaps = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
