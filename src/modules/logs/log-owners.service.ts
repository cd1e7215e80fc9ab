import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { DeployTimes, RequestTimes } from '../../core/logs/index.js';
import { isTerminal, type RequestEventType, type TaskState } from '../../core/model/enums.js';
import { rows, toMillis } from '../../platform/database/sql.js';

export interface OwningRequest {
  group?: string;
  /** Absent: nothing of it is in the history. */
  times?: RequestTimes;
}

export interface OwningDeploy extends DeployTimes {
  /** '' for none; absent: not known. */
  tag?: string;
}

export interface OwningTask {
  group?: string;
  tag?: string;
  endedAt?: number;
}

export interface DeployName {
  requestId: string;
  deployId: string;
}

interface RequestRow {
  id: string;
  group_name: string | null;
  first_at: Date | null;
  last_at: Date | null;
  last_event: RequestEventType | null;
}

interface DeployRow {
  created_at: Date;
  is_current: boolean;
  last_finish_at: Date | null;
  tag: string | null;
}

interface TaskRow {
  id: string;
  state: TaskState | null;
  at: Date;
  group_name: string | null;
  tag: string | null;
}

/** What is known of those whose logs are looked for: since when, until when, in which group. */
@Injectable()
export class LogOwners {
  /** Live or gone; one without any trace has neither group nor times. */
  async requests(tx: EntityManager, ids: readonly string[]): Promise<Map<string, OwningRequest>> {
    const found = await rows<RequestRow>(
      tx,
      `SELECT wanted.id, CASE WHEN r.id IS NULL THEN newest.request ->> 'group' ELSE r.document ->> 'group' END AS group_name,
         oldest.at AS first_at, newest.created_at AS last_at, newest.event_type AS last_event
       FROM unnest($1::text[]) AS wanted (id) LEFT JOIN request r USING (id)
         LEFT JOIN LATERAL (SELECT created_at, event_type, request FROM request_history
           WHERE request_id = wanted.id ORDER BY created_at DESC LIMIT 1) newest ON true
         LEFT JOIN LATERAL (SELECT min(created_at) AS at FROM request_history WHERE request_id = wanted.id) oldest ON true`,
      [ids],
    );
    return new Map(
      found.map((row) => {
        const times =
          row.first_at && row.last_at && row.last_event
            ? { firstAt: row.first_at.getTime(), lastAt: row.last_at.getTime(), lastEvent: row.last_event }
            : undefined;
        return [row.id, { group: row.group_name ?? undefined, times }];
      }),
    );
  }

  /** undefined: there never was one of this id, or its history was purged. */
  async deploy(tx: EntityManager, { requestId, deployId }: DeployName): Promise<OwningDeploy | undefined> {
    const [row] = await rows<DeployRow>(
      tx,
      `SELECT d.created_at, coalesce(d.deploy_id IN (r.active_deploy_id, r.pending_deploy_id), false) AS is_current,
         s.last_finish_at,
         CASE WHEN d.data IS NOT NULL THEN coalesce(d.data #>> '{deploy,executorData,loggingTag}', '') END AS tag
       FROM deploy_history d LEFT JOIN request r ON r.id = d.request_id
         LEFT JOIN deploy_statistics s ON (s.request_id, s.deploy_id) = (d.request_id, d.deploy_id)
       WHERE d.request_id = $1 AND d.deploy_id = $2`,
      [requestId, deployId],
    );
    if (!row) return undefined;
    return {
      createdAt: row.created_at.getTime(),
      isCurrent: row.is_current,
      lastFinishAt: toMillis(row.last_finish_at),
      tag: row.tag ?? undefined,
    };
  }

  /** By id, live or ended; unknown ones are left out. */
  async tasks(tx: EntityManager, ids: readonly string[]): Promise<Map<string, OwningTask>> {
    const found = await rows<TaskRow>(
      tx,
      `SELECT task_id AS id, last_task_status AS state, updated_at AS at,
         data #>> '{task,taskRequest,request,group}' AS group_name,
         CASE WHEN data IS NOT NULL
           THEN coalesce(data #>> '{task,taskRequest,deploy,executorData,loggingTag}', '') END AS tag
       FROM task_history WHERE task_id = ANY ($1)
       UNION ALL
       SELECT t.task_id, t.state, t.state_at, l.document #>> '{request,group}',
         CASE WHEN d.data IS NOT NULL THEN coalesce(d.data #>> '{deploy,executorData,loggingTag}', '') END
       FROM task t LEFT JOIN task_launch l USING (task_id)
         LEFT JOIN deploy_history d ON (d.request_id, d.deploy_id) = (t.request_id, t.deploy_id)
       WHERE t.task_id = ANY ($1)`,
      [ids],
    );
    return new Map(
      found.map(({ id, state, at, group_name: group, tag }) => [
        id,
        {
          group: group ?? undefined,
          tag: tag ?? undefined,
          endedAt: state && isTerminal(state) ? at.getTime() : undefined,
        },
      ]),
    );
  }
}
