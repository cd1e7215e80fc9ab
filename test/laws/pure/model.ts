import type { Settings } from '../../../src/platform/settings/settings.js';
import type { StoredSlave } from '../../../src/modules/slaves/slave.repository.js';
import type { AnyOrder } from './any-order.js';
import type { Tables } from './tables.js';

/** State on which every part of the model works. */
export interface Model {
  tables: Tables;
  settings: Settings;
  now: () => number;
  anyOrder: AnyOrder;
}

/** The machines as the scheduler's rules read them. */
export const storedSlaves = ({ tables }: Model): StoredSlave[] =>
  [...tables.machines.values()].map(({ machine, state }) => ({
    id: machine.slaveId,
    host: machine.hostname,
    rackId: machine.rackId,
    attributes: machine.attributes,
    resources: {},
    currentState: { objectId: machine.slaveId, state, timestamp: 0 },
    firstSeenAt: 0,
    rackState: tables.racks.get(machine.rackId) ?? 'ACTIVE',
    agentId: machine.agentId,
    incarnation: machine.incarnation,
    hostIsInactive: false,
    seenAt: 0,
  }));
