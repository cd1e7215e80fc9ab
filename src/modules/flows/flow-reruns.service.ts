import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { User } from '../../core/authorization/index.js';
import { mostRunsOfFlow, withFollowers } from '../../core/flows/index.js';
import type { Request } from '../../core/model/request.js';
import { refuseEnded } from '../../core/requests/action-rules.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import { Wake } from '../../platform/wake/wake.js';
import { Rows } from '../../rows.js';
import { flowNotFound, FlowReads } from './flow-reads.service.js';
import type { FlowDto, FlowRerunDto } from './flow.dto.js';

/** Runs a flow again from one of its requests on. */
@Injectable()
export class FlowReruns {
  constructor(
    private readonly database: Database,
    private readonly rows: Rows,
    private readonly reads: FlowReads,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {}

  async rerun(flowId: string, asked: FlowRerunDto, user: User): Promise<FlowDto> {
    await this.database.transaction((tx) => this.rerunIn(tx, flowId, asked, user), [asked.from]);
    this.wake.signalOf([asked.from], 'scheduler');
    return this.reads.find(flowId, user);
  }

  /** The lock of the request comes before that of the flow, as where ends of runs are stored. */
  private async rerunIn(tx: Transaction, flowId: string, { from, message }: FlowRerunDto, user: User): Promise<void> {
    const stored = await this.rows.requests.lock(tx, from);
    if (!stored) throw SchedulerError.requestNotFound(from);
    const flow = await this.rows.flows.lock(tx, flowId);
    const runs = await this.rows.flowRuns.ofFlow(tx, flowId);
    const former = runs.findLast(({ requestId }) => requestId === from);
    if (!flow || !former) throw flowNotFound(flowId);
    refuseType(stored.request);
    const ended = refuseEnded(stored.request, stored.state);
    if (ended) throw new SchedulerError(ended.code, ended.message);
    const again = withFollowers(from, await this.rows.flowGraph.below(tx, from));
    const live = runs.find(({ requestId, endedAt }) => endedAt === undefined && again.includes(requestId));
    if (live) {
      const message = `Flow '${flowId}' goes on there: '${from}', or what follows it, has a run that has not ended`;
      throw new SchedulerError('FLOW_RUNNING', message);
    }
    if (flow.runs >= mostRunsOfFlow) {
      throw new SchedulerError('TOO_MANY_RUNS', `Flow '${flowId}' has as many runs as it may have, ${mostRunsOfFlow}`);
    }
    const now = this.clock.now();
    const count = await this.rows.flows.rerun(tx, flowId, again);
    const run = {
      flowId,
      requestId: from,
      runId: randomUUID(),
      cause: `rerun ${count}`,
      trigger: 'RUN_NOW' as const,
      parentRuns: former.parentRuns,
      asked: { ...former.asked, user: user.email, message },
    };
    await this.rows.flows.add(tx, [run], now);
    await this.rows.flows.count(tx, [{ flowId, refused: 0 }], now);
  }
}

function refuseType({ id, requestType }: Request): void {
  if (requestType === 'ON_DEMAND' || requestType === 'SCHEDULED') return;
  const message = `from: '${id}' is of type ${requestType}; only SCHEDULED and ON_DEMAND requests can be run again`;
  throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'from', rule: 'oneOf', message }]);
}
