import { Injectable } from '@nestjs/common';
import type { User } from '../../core/authorization/index.js';
import { flowRunState } from '../../core/flows/index.js';
import { parseTaskId } from '../../core/task-id.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { Rows } from '../../rows.js';
import { Access } from '../auth/access/access.service.js';
import type { StoredRun } from './flow-run.repository.js';
import type { FlowDto, FlowRunDto, RequestFlowDto } from './flow.dto.js';

const mostEdges = 2_000;

/** Flows and who follows whom, as far as a caller may read the requests. */
@Injectable()
export class FlowReads {
  constructor(
    private readonly database: Database,
    private readonly rows: Rows,
    private readonly access: Access,
  ) {}

  async find(id: string, user: User): Promise<FlowDto> {
    const { flow, runs } = await this.database.snapshot(async (tx) => ({
      flow: await this.rows.flows.find(tx, id),
      runs: await this.rows.flowRuns.ofFlow(tx, id),
    }));
    const { readable } = await this.access.sort(
      user,
      runs.map(({ requestId }) => requestId),
    );
    const seen = runs.filter(({ requestId }) => readable(requestId));
    if (!flow || seen.length === 0) throw flowNotFound(id);
    const { requestId, startedAt, refused: refusedRuns } = flow;
    return {
      id,
      ...(readable(requestId) && { requestId }),
      startedAt,
      runs: seen.map((run) => shownRun(run, readable)),
      refusedRuns,
    };
  }

  around(requestId: string, user: User): Promise<RequestFlowDto> {
    return this.database.snapshot(async (tx) => {
      const { edges, isComplete } = await this.rows.flowGraph.around(tx, requestId, mostEdges);
      const ids = [...new Set([requestId, ...edges.flatMap(({ child, parent }) => [child, parent])])];
      const { readable } = await this.access.sort(user, ids, tx);
      const found = await this.rows.requests.findMany(tx, ids.filter(readable));
      if (!found.some(({ request }) => request.id === requestId)) throw SchedulerError.requestNotFound(requestId);
      const newest = await this.rows.flowRuns.newest(
        tx,
        found.map(({ request }) => request.id),
      );
      return {
        requests: found.map(({ request: { id, requestType }, state }) => {
          const lastRun = newest.get(id);
          return { requestId: id, requestType, state, ...(lastRun && { lastRun: shownRun(lastRun, readable) }) };
        }),
        edges: edges
          .filter(({ child, parent }) => readable(child) && readable(parent))
          .map(({ child, parent, on }) => ({ requestId: child, parentId: parent, on })),
        isComplete,
      };
    });
  }
}

export const flowNotFound = (id: string): SchedulerError =>
  new SchedulerError('FLOW_NOT_FOUND', `No flow with id '${id}'`);

/** Tasks of requests that the caller may not read are left out. */
function shownRun(stored: StoredRun, readable: (requestId: string) => boolean): FlowRunDto {
  const { asked: _asked, state: taskState, ...run } = stored;
  const isReadable = (taskId: string): boolean => readable(parseTaskId(taskId)?.requestId ?? '');
  return {
    ...run,
    state: flowRunState({ ...run, state: taskState }),
    parentRuns: run.parentRuns.filter(isReadable),
    ...(taskState !== undefined && { taskState }),
  };
}
