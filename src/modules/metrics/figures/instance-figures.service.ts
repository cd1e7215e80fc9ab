import { Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { Database } from '../../../platform/database/database.js';
import { Leadership } from '../../../platform/leadership/leadership.js';
import { Metrics } from '../../../platform/metrics/metrics.js';
import { Pollers } from '../../../platform/poller/pollers.js';

/** What this instance does: whether it leads, how its pollers fare, and how busy its connections are. */
@Injectable()
export class InstanceFigures {
  constructor(metrics: Metrics, leadership: Leadership, pollers: Pollers, database: Database) {
    metrics.gauge('muster_leader', '1 on the instance that leads', [], (gauge) =>
      gauge.set(leadership.ready() ? 1 : 0),
    );
    const passes = 'Passes of each poller of this instance';
    metrics.counter('muster_poller_passes_total', passes, ['poller'], (counter) => {
      for (const { name, passes: count } of pollers.figures()) counter.inc({ poller: name }, count);
    });
    metrics.counter('muster_poller_failures_total', 'Those of them that failed', ['poller'], (counter) => {
      for (const { name, failures } of pollers.figures()) counter.inc({ poller: name }, failures);
    });
    const connections = 'Connections to the database by use; "waiting" are those who wait for one';
    metrics.gauge('muster_database_connections', connections, ['pool', 'state'], (gauge) => {
      for (const [pool, source] of Object.entries({ api: database.source, leader: database.leaderSource })) {
        const connected = poolOf(source);
        if (!connected) continue;
        const { totalCount, idleCount, waitingCount } = connected;
        gauge.set({ pool, state: 'busy' }, totalCount - idleCount);
        gauge.set({ pool, state: 'idle' }, idleCount);
        gauge.set({ pool, state: 'waiting' }, waitingCount);
      }
    });
  }
}

interface Pool {
  totalCount: number;
  idleCount: number;
  waitingCount: number;
}

/** TypeORM keeps the pool of the driver to itself. None: it is closed, since this instance stops. */
const poolOf = ({ driver }: DataSource): Pool | undefined => (driver as unknown as { master?: Pool }).master;
