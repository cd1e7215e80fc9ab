import { autoscaleText, delayOf } from '../../../core/autoscale/index.js';
import type { AutoscaleState } from '../../../core/model/autoscale.js';
import { instancesOf, type Request } from '../../../core/model/request.js';
import { timeIn } from '../../../core/schedules/index.js';
import type { AutoscaleStatusDto } from '../dto/autoscale-status.dto.js';

/** The newest decision as it is told; undefined: the request has no autoscaling. */
export function autoscaleStatus(request: Request, state: AutoscaleState | undefined): AutoscaleStatusDto | undefined {
  const spec = request.autoscale;
  if (!spec) return undefined;
  const instances = instancesOf(request);
  const { outcome, at, value, needed, fewerSince, scaledAt, scaledFrom, scaledTo } = state ?? {};
  const until = outcome === 'DELAYED' && fewerSince !== undefined ? fewerSince + delayOf(spec) : undefined;
  const message = autoscaleText(spec, state, instances, until === undefined ? undefined : timeIn('UTC', until).utc);
  const lastScale = scaledAt === undefined ? undefined : { at: scaledAt, from: scaledFrom!, to: scaledTo! };
  return { instances, outcome, at, value, needed, until, lastScale, message };
}
