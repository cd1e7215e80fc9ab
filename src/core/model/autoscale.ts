/* Autoscaling: the number of instances of a request follows a metric. */

/** CPU, MEMORY: share that its tasks use of what they ask for; HTTP, PROMETHEUS: a number that says how much load there is in all. */
export const autoscaleMetrics = ['CPU', 'MEMORY', 'HTTP', 'PROMETHEUS'] as const;
export type AutoscaleMetric = (typeof autoscaleMetrics)[number];

/** A wish for autoscaling. Which members it may have depends on its metric. */
export interface Autoscale {
  min: number;
  max: number;
  metric: AutoscaleMetric;
  /** CPU, MEMORY: percent; else the load of one instance. */
  target: number;
  uri?: string;
  valuePath?: string;
  query?: string;
  scaleDownDelayMillis?: number;
  /** The most instances that one decision adds or removes. */
  stepLimit?: number;
}

/**
 * STEADY: there are as many as the metric needs; AT_MIN, AT_MAX: only the bounds keep the number where it is; DELAYED: fewer are enough, and
 * that has to stay so for a while; HELD: something else comes first; INCONCLUSIVE: the metric gives no value; REFUSED: the scale was refused.
 */
export const autoscaleOutcomes = [
  'STEADY',
  'SCALED',
  'AT_MIN',
  'AT_MAX',
  'DELAYED',
  'HELD',
  'INCONCLUSIVE',
  'REFUSED',
] as const;
export type AutoscaleOutcome = (typeof autoscaleOutcomes)[number];

/** The newest decision about a request, and what the next one needs of those before. Times in epoch milliseconds. */
export interface AutoscaleState {
  at: number;
  outcome: AutoscaleOutcome;
  /** Instances after the decision. */
  instances: number;
  /** The measured value; absent: there was none. */
  value?: number;
  /** Instances that the value needs, whatever the bounds. */
  needed?: number;
  /** Why it is HELD, INCONCLUSIVE or REFUSED. */
  reason?: string;
  /** Since when fewer instances are enough without interruption, and the most that were needed since then. */
  fewerSince?: number;
  fewerNeeded?: number;
  /** The last scale. */
  scaledAt?: number;
  scaledFrom?: number;
  scaledTo?: number;
}
