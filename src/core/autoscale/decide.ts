import type { Autoscale, AutoscaleState } from '../model/autoscale.js';
import { isLongRunning } from '../model/enums.js';
import { instancesOf, type Request } from '../model/request.js';
import type { Measurement } from './usage.js';

/** Share by which load and instances may differ before anything is changed. */
const tolerance = 0.1;
const defaultDelayMillis = 300_000;
/** Time without a look after which nothing is known of the time between, besides two regular intervals. */
const gapMillis = 60_000;
/** Differences that come from the arithmetic of floating point alone. */
const epsilon = 1e-9;

export interface AutoscaleFacts {
  /** As stored now. */
  instances: number;
  /** Reason why nothing may be changed now. */
  hold?: string;
  /** Absent: nothing was asked, because of the hold. */
  measured?: Measurement;
}

/** `state` is to be stored; with `to`, the request is to be scaled in the same transaction. */
export interface AutoscaleDecision {
  state: AutoscaleState;
  to?: number;
}

export const delayOf = ({ scaleDownDelayMillis = defaultDelayMillis }: Autoscale): number => scaleDownDelayMillis;

export const withinBounds = ({ min, max }: Pick<Autoscale, 'min' | 'max'>, instances: number): number =>
  Math.min(Math.max(instances, min), max);

/**
 * Decides how many instances a request gets. More are given at once; fewer only if the metric needs fewer for the whole delay, and then as
 * many as it needed at most in that time. `former`: the decision before; `everyMillis`: the regular time between two.
 */
export function decideAutoscale(
  spec: Autoscale,
  { instances, hold, measured }: AutoscaleFacts,
  former: AutoscaleState | undefined,
  now: number,
  everyMillis: number,
): AutoscaleDecision {
  const { scaledAt, scaledFrom, scaledTo } = former ?? {};
  const kept = { at: now, instances, scaledAt, scaledFrom, scaledTo };
  if (hold !== undefined || !measured) {
    const value = measured && 'value' in measured ? measured.value : undefined;
    return { state: { ...kept, outcome: 'HELD', reason: hold, value } };
  }
  if ('problem' in measured) return { state: { ...kept, outcome: 'INCONCLUSIVE', reason: measured.problem } };
  // Another number than the bounds allow comes from a scale that has lapsed, or from other bounds: it is corrected at once.
  const from = withinBounds(spec, instances);
  const { needed, isNear } = neededInstances(spec, measured, from);
  const told = { ...kept, value: measured.value, needed };
  const wanted = isNear ? from : withinBounds(spec, needed);
  const most = spec.stepLimit ?? spec.max;
  if (wanted > from) return scaled(told, Math.min(wanted, from + most));
  if (wanted < from) {
    const before = goesOn(former, instances, now, everyMillis) ? former : undefined;
    const fewerSince = before?.fewerSince ?? now;
    const fewerNeeded = Math.max(wanted, before?.fewerNeeded ?? wanted);
    if (now - fewerSince >= delayOf(spec)) return scaled(told, Math.max(fewerNeeded, from - most));
    const delayed = { ...told, fewerSince, fewerNeeded };
    return from === instances ? { state: { ...delayed, outcome: 'DELAYED' } } : scaled(delayed, from);
  }
  if (from !== instances) return scaled(told, from);
  const outcome = isNear || needed === from ? 'STEADY' : needed > from ? 'AT_MAX' : 'AT_MIN';
  return { state: { ...told, outcome } };
}

const scaled = (told: Omit<AutoscaleState, 'outcome'>, to: number): AutoscaleDecision => ({
  state: { ...told, outcome: 'SCALED', instances: to, scaledAt: told.at, scaledFrom: told.instances, scaledTo: to },
  to,
});

/** The delay of `former` runs on: nobody else changed the number, and there was a look, with a value, all the time. */
function goesOn(former: AutoscaleState | undefined, instances: number, now: number, everyMillis: number): boolean {
  if (former?.fewerSince === undefined || former.instances !== instances) return false;
  return now >= former.at && now - former.at <= gapMillis + 2 * everyMillis;
}

/** Instances for which the value would be the target. isNear: those that there are will do. */
function neededInstances(
  { metric, target }: Autoscale,
  { value, counted }: Extract<Measurement, { value: number }>,
  from: number,
): { needed: number; isNear: boolean } {
  const exact =
    metric === 'CPU' || metric === 'MEMORY' ? ofUsage(value / target, counted ?? from, from) : value / target;
  const isNear = Math.abs(exact / from - 1) <= tolerance + epsilon;
  return { needed: Math.min(Math.max(Math.ceil(exact - epsilon), 0), mostNeeded), isNear };
}

/** So that a number of another order still fits into its column. */
const mostNeeded = 1_000_000_000;

/**
 * Instances that do not count, because they start or are not healthy, use nothing yet where more are needed, and as much as they should
 * where fewer are: so they never make the change larger.
 */
function ofUsage(ratio: number, counted: number, from: number): number {
  const known = Math.min(counted, from);
  if (ratio >= 1) return Math.max(known * ratio, from);
  return known * ratio + (from - known);
}

/**
 * A request as a caller sends it, with the number of instances that it is to have. Autoscaling says how many there are: the number that
 * is sent counts when autoscaling begins, and saving the request again leaves the present number where it is.
 */
export function withPresentInstances(sent: Request, stored: Request | undefined): Request {
  const { autoscale, instances } = sent;
  if (!autoscale || sent.requestType === undefined || !isLongRunning(sent.requestType)) return sent;
  const isOwn = stored?.autoscale !== undefined;
  if (!isOwn && instances !== undefined) return sent;
  const present = stored ? instancesOf(stored) : autoscale.min;
  // A number that cannot be is refused rather than left aside.
  if (isOwn && instances !== undefined && instances !== present && withinBounds(autoscale, instances) !== instances)
    return sent;
  const { min, max } = stored?.autoscale ?? {};
  // Beyond the bounds is only what a person has chosen for a while.
  const isSame = min === autoscale.min && max === autoscale.max;
  return { ...sent, instances: isSame ? present : withinBounds(autoscale, present) };
}
