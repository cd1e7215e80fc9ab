import { Injectable } from '@nestjs/common';
import type { ReadFilter } from '../../core/authorization/index.js';
import { runnableStates, type RequestState, type RequestType } from '../../core/model/enums.js';
import type { Request } from '../../core/model/request.js';
import { keysetOf, type KeysetPage } from '../../platform/database/keyset.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import { lockIds, seenParameters, seenSql } from './request-access.repository.js';
import { keptPlanning, keptScheduleSince, newScheduleSince } from './request-timing.repository.js';

/** A request as stored. activeDeployId and pendingDeployId together are its deploy state. */
export interface StoredRequest {
  request: Request;
  state: RequestState;
  /** Rises with every change; a decision taken on an older one is taken again. */
  version: number;
  /** Epoch milliseconds of the last change. */
  changedAt: number;
  activeDeployId?: string;
  pendingDeployId?: string;
  /** A bounce is under way (the bounce lock). */
  bouncing: boolean;
  /** Epoch milliseconds at which its rule of RFC 5545 was saved as it is: one that names no start starts then. */
  scheduleSince?: number;
  /** Up to when its times are planned, in epoch milliseconds. */
  plannedUntil?: number;
  /** Runs that its schedule has begun; counted where `maxRuns` bounds them. */
  startedRuns?: number;
}

export interface RequestRow {
  document: Request;
  state: RequestState;
  version: number;
  changed_at: Date;
  active_deploy_id: string | null;
  pending_deploy_id: string | null;
  bouncing: boolean;
  schedule_since: Date | null;
  planned_until: Date | null;
  started_runs: number | null;
}

const columnNames = [
  'document',
  'state',
  'version',
  'changed_at',
  'active_deploy_id',
  'pending_deploy_id',
  'bouncing',
  'schedule_since',
  'planned_until',
  'started_runs',
];
const columns = columnNames.join(', ');
/** SQL: what makes a StoredRequest, of a table with this alias. */
export const requestColumns = (alias: string): string => columnNames.map((name) => `${alias}.${name}`).join(', ');

/** No two versions of a row have the same: each is written by another transaction. The rest tells rows of restored databases apart. */
const rowVersionSql = `concat_ws(' ', xmin, version, changed_at)`;

/** SQL: requests in the states $1 (NULL: all) that a caller may read, by `seenParameters` from $2 on. */
const fromSeen = `FROM request WHERE ($1::text[] IS NULL OR state = ANY ($1)) AND ${seenSql(2)}`;

/** A choice of ids. */
interface IdFilter {
  requestIdLike?: string;
  state?: readonly RequestState[];
  /** Absent: all. */
  sight?: ReadFilter;
}

/** SQL: whether a request is one that an IdFilter wants; six parameters from `$first` on. */
const namedSql = (first: number): string =>
  `($${first}::text IS NULL OR starts_with(lower(id), lower($${first}))) AND ($${first + 1}::text[] IS NULL OR state = ANY ($${first + 1}))
     AND ${seenSql(first + 2)}`;

const namedParameters = ({ requestIdLike, state, sight = { kind: 'all' } }: IdFilter): unknown[] => [
  requestIdLike ?? null,
  state ?? null,
  ...seenParameters(sight),
];

/** A transaction of a call takes some 20 ms, and each instance has one in the line. */
const lockWaitMillis = 500;

/**
 * The rows of requests. Every change of a request or of its deploys goes through the lock on its row:
 * lock, change, save. By hand: every action, pass and list reads or locks these rows. Locks are taken in the order of ids, before those of pending_deploy, pending_task and task.
 */
@Injectable()
export class RequestRepository {
  async find(tx: Queryable, id: string): Promise<StoredRequest | undefined> {
    return (await this.findMany(tx, [id]))[0];
  }

  /** In the order of ids; unknown ids are left out. */
  async findMany(tx: Queryable, ids: readonly string[]): Promise<StoredRequest[]> {
    const found = await rows<RequestRow>(tx, `SELECT ${columns} FROM request WHERE id = ANY ($1) ORDER BY id`, [ids]);
    return found.map(storedRequest);
  }

  /**
   * The version of each row by id: the transaction that wrote it, and what it wrote there. Unknown ids are left out.
   */
  async findVersions(tx: Queryable, ids: readonly string[]): Promise<Map<string, string>> {
    const sql = `SELECT id, ${rowVersionSql} AS version FROM request WHERE id = ANY ($1)`;
    const found = await rows<{ id: string; version: string }>(tx, sql, [ids]);
    return new Map(found.map(({ id, version }) => [id, version]));
  }

  /** All requests, or those in the given states, in the order of ids. */
  async findAll(tx: Queryable, states?: readonly RequestState[]): Promise<StoredRequest[]> {
    const found = await rows<RequestRow>(
      tx,
      `SELECT ${columns} FROM request WHERE $1::text[] IS NULL OR state = ANY ($1) ORDER BY id`,
      [states ?? null],
    );
    return found.map(storedRequest);
  }

  /** Requests with autoscaling: first those for which no decision was made yet, then the one whose decision is the oldest. */
  async findAutoscaled(tx: Queryable): Promise<StoredRequest[]> {
    const found = await rows<RequestRow>(
      tx,
      `SELECT ${columns} FROM request WHERE document ? 'autoscale'
       ORDER BY (SELECT at FROM autoscale WHERE request_id = request.id) NULLS FIRST, id`,
    );
    return found.map(storedRequest);
  }

  /** The requests that a caller may read, by their groups: documents of others are not read. */
  async findSeen(
    tx: Transaction,
    states: readonly RequestState[] | undefined,
    sight: ReadFilter,
  ): Promise<StoredRequest[]> {
    const found = await rows<RequestRow>(tx, `SELECT ${columns} ${fromSeen} ORDER BY id`, [
      states ?? null,
      ...seenParameters(sight),
    ]);
    return found.map(storedRequest);
  }

  /** Names what `findSeen` answers: equal only where no row of it was written, came or went. No document is read. */
  async versionOfSeen(
    tx: Transaction,
    states: readonly RequestState[] | undefined,
    sight: ReadFilter,
  ): Promise<string> {
    const [found] = await rows<{ version: string }>(
      tx,
      `SELECT encode(sha256(convert_to(coalesce(string_agg(concat_ws(' ', id, ${rowVersionSql}), E'\\n' ORDER BY id), ''), 'UTF8')), 'hex') AS version
       ${fromSeen}`,
      [states ?? null, ...seenParameters(sight)],
    );
    return found!.version;
  }

  /** SCHEDULED ones that run by their schedules: they have a deploy, and their state lets them run. All, or the one of this id. */
  async findSchedules(tx: Queryable, sight: ReadFilter, id?: string): Promise<StoredRequest[]> {
    const found = await rows<RequestRow>(
      tx,
      `SELECT ${columns} FROM request WHERE request_type = 'SCHEDULED' AND state = ANY ($1) AND active_deploy_id IS NOT NULL
         AND ($2::text IS NULL OR id = $2) AND ${seenSql(3)} ORDER BY id`,
      [runnableStates, id ?? null, ...seenParameters(sight)],
    );
    return found.map(storedRequest);
  }

  /** Of type SERVICE, all or those of these ids, in the order of ids. */
  async findServices(
    tx: Queryable,
    sight: ReadFilter,
    ids: readonly string[] | undefined,
    limit: number,
  ): Promise<StoredRequest[]> {
    const found = await rows<RequestRow>(
      tx,
      `SELECT ${columns} FROM request WHERE request_type = 'SERVICE' AND ($1::text[] IS NULL OR id = ANY ($1))
         AND ${seenSql(2)} ORDER BY id LIMIT $6`,
      [ids ?? null, ...seenParameters(sight), limit],
    );
    return found.map(storedRequest);
  }

  /** A page of them, and of the given types, with what keysetOf reads beyond it. */
  async findSeenPage(
    tx: Transaction,
    { states, types, sight }: { states?: readonly RequestState[]; types?: readonly RequestType[]; sight: ReadFilter },
    page: KeysetPage,
  ): Promise<StoredRequest[]> {
    const found = await rows<RequestRow>(
      tx,
      `SELECT ${columns} FROM request WHERE ($1::text[] IS NULL OR state = ANY ($1))
         AND ($2::text[] IS NULL OR request_type = ANY ($2)) AND ${seenSql(3)} AND id > $7 ORDER BY id LIMIT $8`,
      [states ?? null, types ?? null, ...seenParameters(sight), ...keysetOf(page)],
    );
    return found.map(storedRequest);
  }

  /** Ids that begin with `requestIdLike` in any case, of requests in the given states, in their order, as JSON. */
  async findIds(tx: Queryable, filter: IdFilter): Promise<string> {
    const sql = `SELECT coalesce(json_agg(id ORDER BY id), '[]')::text AS json FROM request WHERE ${namedSql(1)}`;
    const [found] = await rows<{ json: string }>(tx, sql, namedParameters(filter));
    return found!.json;
  }

  /** A page of them, with what keysetOf reads beyond it. */
  async findIdsPage(tx: Queryable, filter: IdFilter, page: KeysetPage): Promise<string[]> {
    const sql = `SELECT id FROM request WHERE ${namedSql(1)} AND id > $7 ORDER BY id LIMIT $8`;
    const found = await rows<{ id: string }>(tx, sql, [...namedParameters(filter), ...keysetOf(page)]);
    return found.map(({ id }) => id);
  }

  /** Counts requests by state. */
  async countsByState(tx: Transaction): Promise<Map<RequestState, number>> {
    const found = await rows<{ state: RequestState; count: number }>(
      tx,
      'SELECT state, count(*)::int AS count FROM request GROUP BY state',
    );
    return new Map(found.map((row) => [row.state, row.count]));
  }

  /** Bytes of all their ids. */
  async idBytes(tx: Transaction): Promise<number> {
    const [found] = await rows<{ bytes: number }>(
      tx,
      'SELECT coalesce(sum(octet_length(id)), 0)::int8 AS bytes FROM request',
    );
    return found!.bytes;
  }

  /** Waits for the row and holds it until `tx` ends, so that two changes of one request never interleave. */
  async lock(tx: Transaction, id: string): Promise<StoredRequest | undefined> {
    const found = await rows<RequestRow>(tx, `SELECT ${columns} FROM request WHERE id = $1 FOR NO KEY UPDATE`, [id]);
    return found.map(storedRequest)[0];
  }

  /** Waits for all of them, in the order of ids; unknown ids are left out. */
  async lockMany(tx: Transaction, ids: readonly string[]): Promise<StoredRequest[]> {
    const found = await rows<RequestRow>(
      tx,
      `SELECT ${columns} FROM request WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE`,
      [ids],
    );
    return found.map(storedRequest);
  }

  /** Locks those that no other transaction holds right now; the others are left out and wait for the next pass. */
  async lockFree(tx: Transaction, ids: readonly string[]): Promise<StoredRequest[]> {
    const found = await rows<RequestRow>(
      tx,
      `SELECT ${columns} FROM request WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`,
      [ids],
    );
    return found.map(storedRequest);
  }

  /**
   * Waits for all of them in the line of their rows, so that its turn comes however many calls there are, and not for long: a
   * row that another transaction keeps is not free within `lockWaitMillis` (isLockTimeout).
   */
  async lockInTurn(tx: Transaction, ids: readonly string[]): Promise<StoredRequest[]> {
    await tx.query(`SET LOCAL lock_timeout TO ${lockWaitMillis}`);
    const locked = await this.lockMany(tx, ids);
    await tx.query('SET LOCAL lock_timeout TO DEFAULT');
    return locked;
  }

  /** Versions by id, locked like `lockMany`; `free`: those that another transaction holds are left out. */
  async lockVersions(tx: Transaction, ids: readonly string[], wait: 'all' | 'free'): Promise<Map<string, number>> {
    const found = await rows<{ id: string; version: number }>(
      tx,
      `SELECT id, version FROM request WHERE id = ANY ($1) ORDER BY id
       FOR NO KEY UPDATE ${wait === 'free' ? 'SKIP LOCKED' : ''}`,
      [ids],
    );
    return new Map(found.map((row) => [row.id, row.version]));
  }

  /** Inserts; a row with this id that appeared meanwhile is left alone and false is answered. */
  async insert(tx: Transaction, stored: StoredRequest): Promise<boolean> {
    await lockIds(tx, [stored.request.id]);
    const written = await rows(
      tx,
      `INSERT INTO request (id, request_type, state, version, changed_at, active_deploy_id, pending_deploy_id, bouncing, document, bytes, schedule_since)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, octet_length($9::jsonb::text), ${newScheduleSince}) ON CONFLICT (id) DO NOTHING RETURNING id`,
      requestParameters(stored),
    );
    return written.length > 0;
  }

  /** Writes a row that is locked in `tx` and raises its version. Answers what was stored. */
  async save(tx: Transaction, stored: StoredRequest): Promise<StoredRequest> {
    const next = { ...stored, version: stored.version + 1 };
    const written = await rows<{ schedule_since: Date | null }>(
      tx,
      `UPDATE request SET request_type = $2, state = $3, version = $4, changed_at = $5, active_deploy_id = $6,
         pending_deploy_id = $7, bouncing = $8, document = $9, bytes = octet_length($9::jsonb::text),
         schedule_since = ${keptScheduleSince},
         ${keptPlanning}
       WHERE id = $1 RETURNING schedule_since`,
      requestParameters(next),
    );
    return { ...next, scheduleSince: toMillis(written[0]?.schedule_since ?? null) };
  }

  async remove(tx: Transaction, id: string): Promise<void> {
    await tx.query('DELETE FROM request WHERE id = $1', [id]);
  }
}

export const storedRequest = (row: RequestRow): StoredRequest => ({
  request: row.document,
  state: row.state,
  version: Number(row.version),
  changedAt: row.changed_at.getTime(),
  activeDeployId: row.active_deploy_id ?? undefined,
  pendingDeployId: row.pending_deploy_id ?? undefined,
  bouncing: row.bouncing,
  scheduleSince: toMillis(row.schedule_since),
  plannedUntil: toMillis(row.planned_until),
  startedRuns: row.started_runs ?? undefined,
});

/**
 * Parameters of a row: id, request_type, state, version, changed_at, active_deploy_id, pending_deploy_id, bouncing,
 * document, schedule_since.
 */
export const requestParameters = (stored: StoredRequest): unknown[] => [
  stored.request.id,
  stored.request.requestType,
  stored.state,
  stored.version,
  new Date(stored.changedAt),
  stored.activeDeployId ?? null,
  stored.pendingDeployId ?? null,
  stored.bouncing,
  JSON.stringify(stored.request),
  stored.scheduleSince === undefined ? null : new Date(stored.scheduleSince),
];
