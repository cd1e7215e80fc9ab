import type { SpreadRules } from '../../core/pending-work/index.js';
import type { Settings } from '../../platform/settings/settings.js';
import type { StoredSlave } from './machines.service.js';

/* How tasks are to be spread, as settings and machines say it. */

export function spreadRules(settings: Settings, slaves: readonly StoredSlave[]): SpreadRules {
  const attributes = new Map(slaves.map((slave) => [slave.id, slave.attributes]));
  return {
    rebalanceRacksOnScaleDown: settings.rebalanceRacksOnScaleDown,
    rackCount: rackCount(settings, slaves),
    attributesOf: (slaveId) => attributes.get(slaveId) ?? {},
  };
}

/** The expected number, else that of the ACTIVE racks. */
export function rackCount(settings: Settings, slaves: readonly StoredSlave[]): number {
  const active = slaves.filter((slave) => slave.rackState === 'ACTIVE').map((slave) => slave.rackId);
  return settings.expectedRacksCount ?? new Set(active).size;
}
