import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeMachine, start } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { judgeStateChange } from '../../core/machines/machine-life.js';
import type { MachineKind, MachineStateHistoryUpdate, OperatorState } from '../../core/model/machine.js';
import { Clock } from '../../platform/clock.js';
import { SchedulerError } from '../../platform/errors.js';
import { builtInCaller } from '../../platform/http/caller.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { InactiveHostRepository } from './inactive-hosts/inactive-host.repository.js';
import { MachineRemoval } from './machine-removal.service.js';
import { MachineReports } from './machine-reports.service.js';
import { MachineChanges } from './machine-changes.service.js';
import { MachineReads } from './machine-reads.service.js';
import { MachinesPoller } from './machines.poller.js';
import { SlavesModule } from './slaves.module.js';

let now = start;
const clock = new (class extends Clock {
  override now = () => now;
})();
let rooms: RoomApp;
beforeAll(async () => {
  const settings = {
    checkSchedulerEverySeconds: 0,
    checkExpiringUserActionEveryMillis: 0,
    maxMachineHistoryEntries: 100,
    maxDecommissioningSlaves: 100,
  };
  rooms = await startRooms({ modules: [SlavesModule], settings, clock });
  // Passes are made by the test alone.
  await rooms.app.get(Pollers).stop();
});
afterAll(() => rooms.close());

const slaves = ['s1', 's2'] as const;
type Step =
  | { kind: 'seen' | 'down'; id: (typeof slaves)[number] }
  | { kind: 'asked'; machine: MachineKind; state: OperatorState; lapsing: boolean; id: (typeof slaves)[number] }
  | { kind: 'mark' | 'pass' | 'tidy' };

const anySlave = fc.constantFrom(...slaves);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('seen' as const, 'down' as const), id: anySlave }),
  fc.record({
    kind: fc.constant('asked' as const),
    machine: fc.constantFrom('SLAVE' as const, 'RACK' as const),
    state: fc.constantFrom('ACTIVE' as const, 'FROZEN' as const, 'STARTING_DECOMMISSION' as const),
    lapsing: fc.boolean(),
    id: anySlave,
  }),
  fc.record({ kind: fc.constantFrom('mark' as const, 'pass' as const, 'tidy' as const) }),
);

async function take(step: Step): Promise<void> {
  const { app, database } = rooms;
  now += 1_000;
  switch (step.kind) {
    case 'seen': {
      const machine = makeMachine({ slaveId: step.id, hostname: step.id });
      return database.leaderTransaction((tx) => app.get(MachineReports).seen(tx, machine, now));
    }
    case 'down':
      return database.leaderTransaction((tx) => app.get(MachineReports).down(tx, step.id, 'gone', now));
    case 'asked': {
      const id = step.machine === 'SLAVE' ? step.id : 'rack-1';
      const asked = step.lapsing ? { durationMillis: 500, revertToState: 'ACTIVE' as const } : {};
      const change = app.get(MachineChanges).change(step.machine, id, step.state, asked, builtInCaller);
      return change.catch((cause: unknown) => {
        if (!(cause instanceof SchedulerError)) throw cause;
      });
    }
    case 'mark':
      return app.get(InactiveHostRepository, { strict: false }).mark(database.pool, 's1', now);
    case 'pass':
      await app.get(MachinesPoller).expire(now);
      return app.get(MachinesPoller).decommission(now);
    case 'tidy':
      return app.get(MachineRemoval).forgetOld(now);
  }
}

async function machinesWithPast(): Promise<{ now: MachineStateHistoryUpdate; past: MachineStateHistoryUpdate[] }[]> {
  const reads = rooms.app.get(MachineReads);
  const found = [
    ...(await reads.slaves()).map((slave) => ['SLAVE', slave.currentState] as const),
    ...(await reads.racks()).map((rack) => ['RACK', rack.currentState] as const),
  ];
  return Promise.all(
    found.map(async ([kind, state]) => ({ now: state, past: await reads.history(kind, state.objectId) })),
  );
}

test('whatever operators and the cluster do: the history has no gaps, and no step in it is illegal', () =>
  fc.assert(
    fc
      .asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 20 }), async (steps) => {
        for (const step of steps) await take(step);
        for (const machine of await machinesWithPast()) {
          expect(machine.past[0]).toEqual(machine.now);
          const states = machine.past.map((update) => update.state).toReversed();
          expect(['ACTIVE', 'STARTING_DECOMMISSION']).toContain(states[0]);
          for (const [index, to] of states.slice(1).entries()) {
            expect(judgeStateChange(states[index]!, to), `${states[index]} to ${to}`).toBe('CHANGED');
          }
          const times = machine.past.map((update) => update.timestamp);
          expect(times.toSorted((a, b) => b - a)).toEqual(times);
        }
      })
      .beforeEach(async () => {
        now = start;
        await rooms.database.pool.query('TRUNCATE slave, rack, machine_history, expiring_action, inactive_host');
      }),
    { numRuns: 40 },
  ));
