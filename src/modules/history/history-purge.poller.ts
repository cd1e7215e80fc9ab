import { Inject, Injectable } from '@nestjs/common';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { HistoryPurger } from './history-purger.service.js';

const hourMillis = 3_600_000;

/** Purges the history where the operator wants it: switched on, and a limit set for the rows of tasks. */
@Injectable()
export class HistoryPurgePoller {
  constructor(purger: HistoryPurger, pollers: Pollers, @Inject(SETTINGS) { historyPurging }: Settings) {
    const { enabled, deleteTaskHistoryAfterDays, deleteTaskHistoryAfterTasksPerRequest } = historyPurging;
    const isLimited = deleteTaskHistoryAfterDays >= 1 || deleteTaskHistoryAfterTasksPerRequest >= 1;
    if (!enabled || !isLimited || historyPurging.checkTaskHistoryEveryHours <= 0) return;
    pollers.register({
      name: 'history-purge',
      everyMs: historyPurging.checkTaskHistoryEveryHours * hourMillis,
      pass: () => purger.purge(),
    });
  }
}
