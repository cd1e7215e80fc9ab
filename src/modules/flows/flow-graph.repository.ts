import { Injectable } from '@nestjs/common';
import type { FlowEdge, Follower, ParentFacts } from '../../core/flows/index.js';
import type { FollowMode, RequestType } from '../../core/model/enums.js';
import type { Parent } from '../../core/model/request.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { rows } from '../../platform/database/sql.js';

/** Requests that are connected by following each other. */
export interface FlowGraph {
  edges: (FlowEdge & { on: Parent['on'] })[];
  /** False: there are more than asked for. */
  isComplete: boolean;
}

/**
 * Who follows whom, by runs (after) or by the start of a service (startAfter). The rows of flow_edge are written by triggers on the table
 * of requests, so that no writer of a request can forget them. By hand: asked at the end of each run of a job, and by recursion.
 */
@Injectable()
export class FlowGraphRepository {
  /**
   * Waits until no other transaction changes who follows whom, or relies on it, and keeps them from it until `tx` ends: two changes, each
   * of which is without a cycle, may make one together. After the locks of requests; no other lock is taken after it but those of groups.
   */
  async lock(tx: Queryable): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock(7102, 1)');
  }

  /** Those of these requests that are there and stay, by id. `child` itself is not counted among their followers. */
  async parents(tx: Queryable, ids: readonly string[], child: string): Promise<Map<string, ParentFacts>> {
    const found = await rows<{ id: string; request_type: RequestType; followers: number }>(
      tx,
      `SELECT id, request_type, (SELECT count(*) FROM flow_edge WHERE parent_id = id AND child_id <> $2)::int AS followers
       FROM request WHERE id = ANY ($1) AND state <> 'DELETING'`,
      [ids, child],
    );
    return new Map(found.map((row) => [row.id, { requestType: row.request_type, followers: row.followers }]));
  }

  /** Requests that one of these follows. */
  async parentIds(tx: Queryable, ids: readonly string[]): Promise<Set<string>> {
    const found = await rows<{ id: string }>(tx, 'SELECT parent_id AS id FROM flow_edge WHERE child_id = ANY ($1)', [
      ids,
    ]);
    return new Set(found.map((row) => row.id));
  }

  /** Those of these requests that have followers. */
  async followed(tx: Queryable, ids: readonly string[]): Promise<Set<string>> {
    const found = await rows<{ id: string }>(
      tx,
      'SELECT DISTINCT parent_id AS id FROM flow_edge WHERE parent_id = ANY ($1)',
      [ids],
    );
    return new Set(found.map((row) => row.id));
  }

  /** All that these requests follow, directly or not. */
  async above(tx: Queryable, ids: readonly string[]): Promise<FlowEdge[]> {
    return rows(
      tx,
      `WITH RECURSIVE up AS (
         SELECT child_id, parent_id FROM flow_edge WHERE child_id = ANY ($1)
         UNION SELECT e.child_id, e.parent_id FROM up JOIN flow_edge e ON e.child_id = up.parent_id)
       SELECT child_id AS child, parent_id AS parent FROM up`,
      [ids],
    );
  }

  /** All that follow this request, directly or not. */
  async below(tx: Queryable, id: string): Promise<FlowEdge[]> {
    return rows(
      tx,
      `WITH RECURSIVE down AS (
         SELECT child_id, parent_id FROM flow_edge WHERE parent_id = $1
         UNION SELECT e.child_id, e.parent_id FROM down JOIN flow_edge e ON e.parent_id = down.child_id)
       SELECT child_id AS child, parent_id AS parent FROM down`,
      [id],
    );
  }

  /** Whatever is connected with this request by runs, in either direction, up to so many edges. */
  async around(tx: Queryable, id: string, most: number): Promise<FlowGraph> {
    const found = await rows<FlowGraph['edges'][number]>(
      tx,
      `WITH RECURSIVE near AS (
         SELECT $1::text AS id
         UNION SELECT CASE WHEN e.child_id = near.id THEN e.parent_id ELSE e.child_id END
           FROM near JOIN flow_edge e ON near.id IN (e.child_id, e.parent_id) AND e.condition <> 'START')
       SELECT child_id AS child, parent_id AS parent, condition AS on FROM flow_edge
       WHERE child_id IN (SELECT id FROM near) AND condition <> 'START' ORDER BY child_id, parent_id LIMIT $2`,
      [id, most + 1],
    );
    return { edges: found.slice(0, most), isComplete: found.length <= most };
  }

  /** Ids of those that follow this request and stay. */
  async followerIds(tx: Queryable, id: string): Promise<string[]> {
    const found = await rows<{ id: string }>(
      tx,
      `SELECT r.id FROM flow_edge e JOIN request r ON r.id = e.child_id
       WHERE e.parent_id = $1 AND r.state <> 'DELETING' ORDER BY r.id`,
      [id],
    );
    return found.map((row) => row.id);
  }

  /** Those whose runs follow runs of one of these requests. */
  async followers(tx: Queryable, ids: readonly string[]): Promise<Follower[]> {
    const found = await rows<{ id: string; parents: Parent[]; mode: FollowMode | null; args: string | null }>(
      tx,
      `SELECT id, document->'after' AS parents, document->>'afterMode' AS mode, document->>'argsFrom' AS args
       FROM request
       WHERE id IN (SELECT child_id FROM flow_edge WHERE parent_id = ANY ($1) AND condition <> 'START') AND state <> 'DELETING'
       ORDER BY id`,
      [ids],
    );
    return found.map(({ id, parents, mode, args }) => ({
      requestId: id,
      parents,
      mode: mode ?? 'ALL',
      takesArgs: args === 'PARENT',
    }));
  }
}
