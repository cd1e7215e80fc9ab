import { setImmediate as othersTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { User } from '../../../core/authorization/index.js';
import { startsLeft } from '../../../core/pending-work/index.js';
import { EarliestRuns, type RunWindow } from '../../../core/schedules/index.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { SchedulerError } from '../../../platform/errors.js';
import { Access } from '../../auth/access/access.service.js';
import { RequestRepository } from '../request.repository.js';
import { type UpcomingRunsDto, type UpcomingRunsQuery, usualRuns } from './upcoming-runs.dto.js';

const dayMillis = 86_400_000;
const longestDays = 366;
/** Other calls of the instance get their turn in between: a schedule takes some 10 microseconds a run. */
const schedulesPerTurn = 20;

/** When the schedules of requests ask for runs, as the scheduler evaluates them. */
@Injectable()
export class UpcomingRuns {
  constructor(
    private readonly database: Database,
    private readonly requests: RequestRepository,
    private readonly access: Access,
    private readonly clock: Clock,
  ) {}

  /** Of the requests that the caller may read. Times that have passed are those since the last change of each request. */
  async find(query: UpcomingRunsQuery, user: User): Promise<UpcomingRunsDto> {
    const window = windowOf(query, this.clock.now());
    const { requestId, limit = usualRuns } = query;
    const earliest = new EarliestRuns(window, limit);
    let looked = 0;
    for (const { request, scheduleSince, startedRuns, changedAt } of await this.schedules(user, requestId)) {
      const left = startsLeft({ request, startedRuns });
      earliest.add(request.id, request, { since: scheduleSince, asItIsSince: changedAt, startsLeft: left });
      if (++looked % schedulesPerTurn === 0) await othersTurn();
    }
    return { ...window, ...earliest.result() };
  }

  private async schedules(user: User, requestId: string | undefined) {
    const found = await this.requests.findSchedules(this.database.pool, this.access.sightOf(user), requestId);
    if (found.length > 0 || requestId === undefined) return found;
    if (!(await this.requests.find(this.database.pool, requestId))) throw SchedulerError.requestNotFound(requestId);
    return found;
  }
}

function windowOf({ from: first, to: last }: UpcomingRunsQuery, now: number): RunWindow {
  const from = first ?? now;
  const to = last ?? from + dayMillis;
  if (to <= from) throw refused('after', `to must be after from, which is ${new Date(from).toISOString()}`);
  if (to - from > longestDays * dayMillis) throw refused('max', `to must be at most ${longestDays} days after from`);
  return { from, to };
}

const refused = (rule: string, message: string): SchedulerError =>
  SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'to', rule, message }]);
