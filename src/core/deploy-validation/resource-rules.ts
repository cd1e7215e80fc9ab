import type { FieldError } from '../field-error.js';
import type { Resources } from '../model/deploy.js';
import type { DeployRule, ResourceLimits } from './context.js';

interface Kind {
  member: 'cpus' | 'memoryMb' | 'diskMb';
  unit: string;
  byDefault: keyof ResourceLimits;
  perInstance: keyof ResourceLimits;
  perRequest: keyof ResourceLimits;
  mayBeZero: boolean;
}

const kinds: readonly Kind[] = [
  {
    member: 'cpus',
    unit: 'cores',
    byDefault: 'defaultCpus',
    perInstance: 'maxNumCpusPerInstance',
    perRequest: 'maxNumCpusPerRequest',
    mayBeZero: false,
  },
  {
    member: 'memoryMb',
    unit: 'MB',
    byDefault: 'defaultMemory',
    perInstance: 'maxMemoryMbPerInstance',
    perRequest: 'maxMemoryMbPerRequest',
    mayBeZero: false,
  },
  {
    member: 'diskMb',
    unit: 'MB',
    byDefault: 'defaultDisk',
    perInstance: 'maxDiskMbPerInstance',
    perRequest: 'maxDiskMbPerRequest',
    mayBeZero: true,
  },
];

/**
 * What one instance and all of them together may ask for. `field`: dotted path of the resources, for the messages. Also
 * asked again when a request with a deploy changes its number of instances.
 */
export function resourceProblems(
  resources: Resources | undefined,
  instances: number,
  limits: ResourceLimits,
  field: string,
): FieldError[] {
  return kinds.flatMap((kind) => {
    const wanted = resources ? (resources[kind.member] ?? 0) : limits[kind.byDefault];
    const path = `${field}.${kind.member}`;
    const broken = (rule: string, message: string): FieldError[] => [
      { field: path, rule, message: `${path} ${message}` },
    ];
    if (wanted < 0 || (wanted === 0 && !kind.mayBeZero)) return broken('min', 'must be greater than 0');
    if (wanted > limits[kind.perInstance]) {
      return broken('max', `must be at most ${limits[kind.perInstance]} ${kind.unit} per instance`);
    }
    if (wanted * instances > limits[kind.perRequest]) {
      return broken(
        'max',
        `of ${instances} instances must be at most ${limits[kind.perRequest]} ${kind.unit} together`,
      );
    }
    return [];
  });
}

export const resourceRule: DeployRule = ({ resources }, { request, settings }) =>
  resourceProblems(resources, request.instances ?? 1, settings.cluster, 'deploy.resources');
