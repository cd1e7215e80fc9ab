import { isLongRunning, type SlavePlacement } from '../model/enums.js';
import type { Request } from '../model/request.js';

export interface SpreadSettings {
  defaultSlavePlacement: SlavePlacement;
  spreadAllSlavesEnabled: boolean;
}

/** Is the number of its instances that of the active slaves, whatever it says? Jobs keep their own. */
export const followsActiveSlaves = (request: Request, settings: SpreadSettings): boolean =>
  settings.spreadAllSlavesEnabled &&
  request.requestType !== undefined &&
  isLongRunning(request.requestType) &&
  (request.slavePlacement ?? settings.defaultSlavePlacement) === 'SPREAD_ALL_SLAVES';

/** One instance per active slave; while there is none, one that waits for it. */
export const onePerSlave = (request: Request, activeSlaves: number): Request => ({
  ...request,
  instances: Math.max(activeSlaves, 1),
});
