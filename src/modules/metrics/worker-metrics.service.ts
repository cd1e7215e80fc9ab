import { Inject, Injectable } from '@nestjs/common';
import { Metrics } from '../../platform/metrics/metrics.js';
import { PROCESS_ROLE, type ProcessRole } from '../../platform/process/process-role.js';

/** State of the API workers. Absent where the instance has none. */
@Injectable()
export class WorkerMetrics {
  constructor(metrics: Metrics, @Inject(PROCESS_ROLE) role: ProcessRole) {
    if (role.kind !== 'leader') return;
    const { workers } = role;
    const help = 'API workers of this instance; "missing" are those that begin or have ended';
    metrics.gauge('muster_api_workers', help, ['state'], (gauge) => {
      const { serving, missing } = workers.counts();
      gauge.set({ state: 'serving' }, serving);
      gauge.set({ state: 'missing' }, missing);
    });
    const ended = 'API workers that have ended while the instance runs, each of which is replaced';
    metrics.counter('muster_api_workers_ended_total', ended, [], (counter) => counter.inc(workers.counts().ended));
  }
}
