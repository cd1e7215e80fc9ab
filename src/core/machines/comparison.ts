import { isDeepStrictEqual } from 'node:util';
import type { MachineState } from '../model/enums.js';
import type { ClusterResourcesObject } from '../model/machine.js';
import { isInactive } from './machine-life.js';

/** A slave as the cluster describes it, as far as it is stored. */
export interface SlaveRecord {
  id: string;
  host: string;
  rackId: string;
  agentId: string;
  incarnation: string;
  attributes: Record<string, string>;
  resources: ClusterResourcesObject;
}

export type KnownSlave = SlaveRecord & { state: MachineState };
export interface KnownRack {
  id: string;
  state: MachineState;
}

/** Changes that make our records agree with the list of the cluster. Ids in the order of the input. */
interface Differences {
  /** Listed, and not known as they are: to be stored or refreshed. */
  toRecord: string[];
  /** Known, there until now, and not listed by who would know. */
  unlistedSlaves: string[];
  unlistedRacks: string[];
}

/**
 * Compares what we know with what the cluster lists. `speaksFor` tells whether the list is complete for an agent: of an
 * agent that does not answer nothing is concluded, since its tasks run on.
 */
export function compareMachines(
  known: { slaves: readonly KnownSlave[]; racks: readonly KnownRack[] },
  listed: readonly SlaveRecord[],
  speaksFor: (agentId: string) => boolean,
): Differences {
  const slaves = new Map(known.slaves.map((slave) => [slave.id, slave]));
  const racks = new Map(known.racks.map((rack) => [rack.id, rack]));
  const listedIds = new Set(listed.map((slave) => slave.id));
  const isThere = (machine: { state: MachineState } | undefined): boolean =>
    machine !== undefined && !isInactive(machine.state);
  const unlisted = known.slaves.filter((slave) => isThere(slave) && !listedIds.has(slave.id));
  const inDoubt = unlisted.filter((slave) => !speaksFor(slave.agentId));
  const usedRacks = new Set([...listed, ...inDoubt].map((slave) => slave.rackId));
  return {
    toRecord: listed
      .filter((slave) => {
        const record = slaves.get(slave.id);
        return !isThere(record) || !isThere(racks.get(slave.rackId)) || !isSameRecord(record!, slave);
      })
      .map((slave) => slave.id),
    unlistedSlaves: unlisted.filter((slave) => speaksFor(slave.agentId)).map((slave) => slave.id),
    unlistedRacks: known.racks.filter((rack) => isThere(rack) && !usedRacks.has(rack.id)).map((rack) => rack.id),
  };
}

const isSameRecord = ({ state: _state, ...record }: KnownSlave, listed: SlaveRecord): boolean =>
  isDeepStrictEqual(record, listed);

/** The host as it is stored: a suffix that all hosts have in common says nothing. */
export const shortHost = (hostname: string, commonSuffix: string | undefined): string =>
  commonSuffix && hostname.length > commonSuffix.length && hostname.endsWith(commonSuffix)
    ? hostname.slice(0, -commonSuffix.length)
    : hostname;
