import { setTimeout as delay } from 'node:timers/promises';
import type { Player, Stage } from './stage.js';

/** One way in which a leader is replaced. */
export interface Scenario {
  fault: string;
  /** Within this time the other one must have started something that was asked for after the fault. */
  limitMillis: number;
  strike(roles: { leader: Player; other: Player }): Promise<void>;
  /** The leader that was struck cannot be asked anything until `recover`. */
  silences: boolean;
  /** Time that it lasts, before `recover` ends it. */
  lastsMillis: number;
  recover(leader: Player, stage: Stage): Promise<unknown>;
}

export const scenarios = ({ stopMillis, cutMillis }: { stopMillis: number; cutMillis: number }): Scenario[] => [
  {
    fault: 'kill -9 of the leader',
    limitMillis: 5_000,
    silences: true,
    strike: ({ leader }) => leader.instance.kill9(),
    lastsMillis: 5_000,
    recover: ({ name, line }, stage) => line.close().then(() => stage.enter(name)),
  },
  {
    fault: `SIGSTOP of the leader for ${stopMillis / 1_000} s`,
    limitMillis: 15_000,
    silences: true,
    strike: async ({ leader }) => leader.instance.signal('SIGSTOP'),
    lastsMillis: stopMillis,
    recover: async ({ instance }) => instance.signal('SIGCONT'),
  },
  {
    fault: 'its database connections broken and refused',
    limitMillis: 5_000,
    silences: false,
    strike: async ({ leader }) => leader.line.cut(),
    lastsMillis: cutMillis,
    recover: async ({ line }) => line.restore(),
  },
  {
    fault: 'its database connections silent',
    limitMillis: 5_000,
    silences: false,
    strike: async ({ leader }) => leader.line.freeze(),
    lastsMillis: cutMillis,
    recover: async ({ line }) => line.restore(),
  },
  {
    fault: 'taken over by force while it works',
    limitMillis: 5_000,
    silences: false,
    strike: ({ other }) => other.instance.api.call('POST', 'test/leader'),
    lastsMillis: 0,
    recover: () => delay(0),
  },
];
