import { addressProblem } from '../deploy-validation/index.js';
import { type FieldError, type KindMember, kindProblems, problem } from '../field-error.js';
import { type Autoscale, type AutoscaleMetric, autoscaleMetrics } from '../model/autoscale.js';
import { isLongRunning } from '../model/enums.js';
import type { Request } from '../model/request.js';

/** What autoscaling has to keep to. */
export interface AutoscaleLimits {
  maxNumInstancesPerRequest: number;
  prometheus: { uri?: string | undefined };
}

/** Members with the metrics that they are for, and those that need them. */
const membersOfMetrics: readonly KindMember<'uri' | 'valuePath' | 'query', AutoscaleMetric>[] = [
  { member: 'uri', for: ['HTTP', 'PROMETHEUS'], requiredFor: ['HTTP'] },
  { member: 'valuePath', for: ['HTTP'] },
  { member: 'query', for: ['PROMETHEUS'], requiredFor: ['PROMETHEUS'] },
];

/** Contradictions of `autoscale`. */
export function autoscaleProblems(
  { requestType, autoscale, maxScale, slavePlacement }: Request,
  { limits, mayAskHost }: { limits: AutoscaleLimits; mayAskHost?: (host: string) => boolean },
): FieldError[] {
  if (!autoscale || requestType === undefined) return [];
  if (!isLongRunning(requestType))
    return problem('autoscale', 'notAllowed', `autoscale is not allowed for a ${requestType} request`);
  if (slavePlacement === 'SPREAD_ALL_SLAVES') {
    const message =
      'autoscale is not possible with slavePlacement SPREAD_ALL_SLAVES: there are as many instances as slaves';
    return problem('autoscale', 'followsSlaves', message);
  }
  const { metric, uri } = autoscale;
  if (!autoscaleMetrics.includes(metric)) return [];
  const isAsked = metric === 'PROMETHEUS' || metric === 'HTTP';
  const broken = isAsked && addressProblem({ type: metric, uri }, { prometheusUri: limits.prometheus.uri, mayAskHost });
  return [
    ...boundProblems(autoscale, maxScale, limits.maxNumInstancesPerRequest),
    ...(autoscale.target > 0 ? [] : problem('autoscale.target', 'min', 'autoscale.target must be more than 0')),
    ...kindProblems(autoscale, 'autoscale', { word: 'metric', kind: metric }, membersOfMetrics),
    ...(broken ? problem('autoscale.uri', broken.rule, `autoscale.uri ${broken.text}`) : []),
  ];
}

function boundProblems({ min, max }: Autoscale, maxScale: number | undefined, most: number): FieldError[] {
  if (max < min) return problem('autoscale.max', 'range', `autoscale.max must be at least min, which is ${min}`);
  if (maxScale !== undefined && max > maxScale) {
    const message = `autoscale.max must be at most ${maxScale}, the maxScale of the request, not ${max}`;
    return problem('autoscale.max', 'maxScale', message);
  }
  const message = `autoscale.max must be at most ${most} (cluster.maxNumInstancesPerRequest), not ${max}`;
  return max > most ? problem('autoscale.max', 'max', message) : [];
}
