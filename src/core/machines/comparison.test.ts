import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { machineStates } from '../model/enums.js';
import { compareMachines, shortHost, type KnownRack, type KnownSlave, type SlaveRecord } from './comparison.js';

const record = (members: Partial<SlaveRecord> = {}): SlaveRecord => ({
  id: 's1',
  host: 'host-1',
  rackId: 'r1',
  agentId: 'a1',
  incarnation: 'i1',
  attributes: { zone: 'east' },
  resources: { cpus: 8, mem: 100, disk: 0, ports: '[1-2]' },
  ...members,
});
const known = (members: Partial<KnownSlave> = {}): KnownSlave => ({ ...record(), state: 'ACTIVE', ...members });
const rack = (members: Partial<KnownRack> = {}): KnownRack => ({ id: 'r1', state: 'ACTIVE', ...members });
const everybody = () => true;
const nobody = () => false;
const compare = (
  slaves: KnownSlave[],
  listed: SlaveRecord[],
  { racks = [rack()], speaksFor = everybody }: { racks?: KnownRack[]; speaksFor?: (agentId: string) => boolean } = {},
) => compareMachines({ slaves, racks }, listed, speaksFor);
const nothing = { toRecord: [], unlistedSlaves: [], unlistedRacks: [] };

describe('listed slaves', () => {
  test.each<[string, KnownSlave[], KnownRack[]]>([
    ['unknown', [], [rack()]],
    ['DEAD', [known({ state: 'DEAD' })], [rack()]],
    ['MISSING_ON_STARTUP', [known({ state: 'MISSING_ON_STARTUP' })], [rack()]],
    ['with other resources', [known({ resources: { cpus: 4 } })], [rack()]],
    ['with other attributes', [known({ attributes: {} })], [rack()]],
    ['in another incarnation', [known({ incarnation: 'i0' })], [rack()]],
    ['in a rack whose record was removed', [known()], []],
    ['in a DEAD rack', [known()], [rack({ state: 'DEAD' })]],
  ])('%s: are recorded', (_name, slaves, racks) => {
    expect(compare(slaves, [record()], { racks })).toEqual({ ...nothing, toRecord: ['s1'] });
  });

  test.each(['ACTIVE', 'FROZEN', 'DECOMMISSIONED'] as const)('known as they are and %s: nothing to do', (state) => {
    expect(compare([known({ state })], [record()])).toEqual(nothing);
  });
});

describe('slaves that are not listed', () => {
  test('are told with their rack', () => {
    expect(compare([known()], [])).toEqual({ ...nothing, unlistedSlaves: ['s1'], unlistedRacks: ['r1'] });
  });

  test('do not take a rack with them in which others are listed', () => {
    expect(compare([known(), known({ id: 's2' })], [record({ id: 's2' })])).toEqual({
      ...nothing,
      unlistedSlaves: ['s1'],
    });
  });

  test('nothing is concluded, for slave or rack, from the silence of their agent', () => {
    expect(compare([known()], [], { speaksFor: nobody })).toEqual(nothing);
  });

  test('of one agent are missing while another is silent', () => {
    const slaves = [known(), known({ id: 's2', agentId: 'a2', rackId: 'r2' })];
    const racks = [rack(), rack({ id: 'r2' })];
    expect(compare(slaves, [], { racks, speaksFor: (agentId) => agentId === 'a1' })).toEqual({
      ...nothing,
      unlistedSlaves: ['s1'],
      unlistedRacks: ['r1'],
    });
  });

  test('and are known to be gone are nothing new', () => {
    expect(compare([known({ state: 'DEAD' })], [], { racks: [rack({ state: 'DEAD' })] })).toEqual(nothing);
  });
});

test('the order of rows and of the list changes nothing but the order of the answer', () =>
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(fc.constantFrom('s1', 's2', 's3', 's4'), fc.constantFrom(...machineStates)), {
        selector: ([id]) => id,
      }),
      fc.uniqueArray(fc.constantFrom('s1', 's2', 's3', 's4')),
      (states, ids) => {
        const slaves = states.map(([id, state]) => known({ id, state, rackId: `r-${id}` }));
        const racks = slaves.map(({ rackId: id, state }) => rack({ id, state }));
        const listed = ids.map((id) => record({ id, rackId: `r-${id}` }));
        const forth = compare(slaves, listed, { racks });
        const back = compare(slaves.toReversed(), listed.toReversed(), { racks: racks.toReversed() });
        for (const key of ['toRecord', 'unlistedSlaves', 'unlistedRacks'] as const) {
          expect(back[key].toReversed()).toEqual(forth[key]);
        }
        expect(forth.toRecord.filter((id) => forth.unlistedSlaves.includes(id))).toEqual([]);
      },
    ),
  ));

test.each([
  ['node1.example.com', '.example.com', 'node1'],
  ['node1.example.org', '.example.com', 'node1.example.org'],
  ['.example.com', '.example.com', '.example.com'],
  ['node1', undefined, 'node1'],
  ['node1', '', 'node1'],
])('host %s without %s is %s', (hostname, suffix, host) => expect(shortHost(hostname, suffix)).toBe(host));
