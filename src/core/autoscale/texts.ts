import type { Autoscale, AutoscaleState } from '../model/autoscale.js';

/** Few enough digits for people; what is small keeps those that count. */
const shown = (value: number): string => String(Number(value.toPrecision(4)));

const instances = (count: number): string => (count === 1 ? '1 instance' : `${count} instances`);

/** The value beside the target, such as "CPU 93 %, target 60 %". */
export function metricText({ metric, target }: Autoscale, value: number): string {
  const isShare = metric === 'CPU' || metric === 'MEMORY';
  if (isShare) return `${metric} ${shown(value)} %, target ${shown(target)} %`;
  return `${metric} ${shown(value)}, target ${shown(target)} per instance`;
}

/** Message of a scale in the history, before the numbers of instances. */
export const autoscaleMessage = (spec: Autoscale, { value }: AutoscaleState): string =>
  `autoscale: ${value === undefined ? '' : metricText(spec, value)}`;

/** What becomes of a person's scale. */
export const scalePlanText = ({ min, max }: Autoscale, isLapsing: boolean): string =>
  isLapsing
    ? 'Autoscaling waits until this scale has expired'
    : `Autoscaling goes on from there, within ${min} to ${max} instances`;

/** Why there are as many instances as there are, as a sentence. `present`: as stored; `until`: the end of the delay of DELAYED. */
export function autoscaleText(
  spec: Autoscale,
  state: AutoscaleState | undefined,
  present: number,
  until: string | undefined,
): string {
  const own = `Autoscaling (${spec.min} to ${spec.max}) keeps ${instances(present)}`;
  if (!state) return `${own}: it has not measured yet`;
  const { outcome, value, needed = 0, reason } = state;
  const measured = value === undefined ? '' : metricText(spec, value);
  switch (outcome) {
    case 'STEADY':
      return `${own}: ${measured}`;
    case 'SCALED':
      return `Autoscaling (${spec.min} to ${spec.max}) has just changed ${state.scaledFrom} to ${instances(state.scaledTo!)}: ${measured}`;
    case 'AT_MAX':
      return `${own}, which is max: ${measured}, for which ${needed} would be needed`;
    case 'AT_MIN':
      return `${own}, which is min: ${measured}, for which ${needed} would be enough`;
    case 'DELAYED':
      return `${own}: ${measured}, for which ${needed} would be enough; it removes some if that stays so until ${until}`;
    case 'HELD':
      return `${own} for now: ${reason}${measured && ` (${measured})`}`;
    case 'INCONCLUSIVE':
      return `${own}: there is no value of the metric: ${reason}`;
    case 'REFUSED':
      return `${own}: ${measured}, for which ${needed} are needed, but the scale was refused: ${reason}`;
  }
}
