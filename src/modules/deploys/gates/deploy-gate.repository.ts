import { Injectable } from '@nestjs/common';
import type { DeployKey } from '../../../core/model/deploy.js';
import type {
  GateMeasurement,
  GateResult,
  GateRow,
  GateState,
  GateType,
  MeasurementOutcome,
} from '../../../core/model/gate.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { rows, toMillis, toTime } from '../../../platform/database/sql.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { OutboxRepository } from '../../events/outbox.repository.js';

interface Row {
  request_id: string;
  deploy_id: string;
  step: number;
  gate: number;
  type: GateType;
  state: GateState;
  since: Date;
  next_at: Date | null;
  ended_at: Date | null;
  passes: number;
  failures: number;
  inconclusive: number;
  user_name: string | null;
  message: string | null;
}

interface MeasurementRow {
  step: number;
  gate: number;
  at: Date;
  outcome: MeasurementOutcome;
  value: number | null;
  message: string | null;
}

/** Number of the measurements of a gate so far. */
export const measurementsOf = ({ passes, failures, inconclusive }: GateRow): number => passes + failures + inconclusive;

/** Gates of deploys and what was measured for them. Changes are made under the lock on the request's row. */
@Injectable()
export class DeployGateRepository {
  constructor(private readonly outbox: OutboxRepository) {}

  /** Gates that were opened after a step, in their order. */
  async ofStep(tx: Queryable, { requestId, deployId }: DeployKey, step: number): Promise<GateRow[]> {
    const found = await rows<Row>(
      tx,
      'SELECT * FROM deploy_gate WHERE request_id = $1 AND deploy_id = $2 AND step = $3 ORDER BY gate',
      [requestId, deployId, step],
    );
    return found.map(fromRow);
  }

  /** All gates of a deploy with their measurements, in their order. */
  async results(tx: Queryable, { requestId, deployId }: DeployKey): Promise<GateResult[]> {
    const key = [requestId, deployId];
    const found = await rows<Row>(
      tx,
      'SELECT * FROM deploy_gate WHERE request_id = $1 AND deploy_id = $2 ORDER BY step, gate',
      key,
    );
    if (found.length === 0) return [];
    const measured = await rows<MeasurementRow>(
      tx,
      'SELECT * FROM gate_measurement WHERE request_id = $1 AND deploy_id = $2 ORDER BY step, gate, number',
      key,
    );
    return found.map((row) => {
      const { nextAt: _next, ...result } = fromRow(row);
      const own = measured.filter(({ step, gate }) => step === row.step && gate === row.gate);
      return { ...result, measurements: own.map(toMeasurement) };
    });
  }

  /** The newest measurement of a gate. */
  async lastMeasurement(
    tx: Queryable,
    { requestId, deployId }: DeployKey,
    { step, gate }: GateRow,
  ): Promise<GateMeasurement | undefined> {
    const [found] = await rows<MeasurementRow>(
      tx,
      `SELECT * FROM gate_measurement WHERE request_id = $1 AND deploy_id = $2 AND step = $3 AND gate = $4
       ORDER BY number DESC LIMIT 1`,
      [requestId, deployId, step, gate],
    );
    return found && toMeasurement(found);
  }

  /** True if a gate of this deploy failed. */
  async hasFailed(tx: Queryable, { requestId, deployId }: DeployKey): Promise<boolean> {
    const sql = `SELECT 1 FROM deploy_gate WHERE request_id = $1 AND deploy_id = $2 AND state = 'FAILED' LIMIT 1`;
    return (await rows(tx, sql, [requestId, deployId])).length > 0;
  }

  /** Inserts or overwrites a gate, and tells of its state. */
  async save(tx: Transaction, { requestId, deployId }: DeployKey, row: GateRow): Promise<void> {
    await Promise.all([
      tx.query(
        `INSERT INTO deploy_gate (request_id, deploy_id, step, gate, type, state, since, next_at, ended_at, passes, failures,
           inconclusive, user_name, message)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
         ON CONFLICT (request_id, deploy_id, step, gate) DO UPDATE SET state = excluded.state, next_at = excluded.next_at,
           ended_at = excluded.ended_at, passes = excluded.passes, failures = excluded.failures,
           inconclusive = excluded.inconclusive, user_name = excluded.user_name, message = excluded.message`,
        [
          requestId,
          deployId,
          row.step,
          row.gate,
          row.type,
          row.state,
          new Date(row.since),
          toTime(row.nextAt),
          toTime(row.endedAt),
          row.passes,
          row.failures,
          row.inconclusive,
          row.user ?? null,
          row.message ?? null,
        ],
      ),
      this.outbox.gate(tx, { requestId, deployId }, row),
    ]);
  }

  async addMeasurement(
    tx: Transaction,
    { requestId, deployId }: DeployKey,
    row: GateRow,
    { at, outcome, value, message }: GateMeasurement,
  ): Promise<void> {
    await tx.query(
      `INSERT INTO gate_measurement (request_id, deploy_id, step, gate, number, at, outcome, value, message)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        requestId,
        deployId,
        row.step,
        row.gate,
        measurementsOf(row),
        new Date(at),
        outcome,
        value ?? null,
        message ?? null,
      ],
    );
  }

  /** The deploy has ended: its open gates decide nothing any more. */
  async cancelOpen(tx: Transaction, { requestId, deployId }: DeployKey, now: number): Promise<void> {
    await tx.query(
      `UPDATE deploy_gate SET state = 'CANCELED', ended_at = $3, next_at = NULL
       WHERE request_id = $1 AND deploy_id = $2 AND state IN ('WAITING', 'PAUSED')`,
      [requestId, deployId, new Date(now)],
    );
  }

  /** Gates with a measurement to come, of steps whose tasks are healthy, the earliest first; of each group at most so many. */
  async measured(tx: Queryable, most: number, mostOfGroup: number): Promise<(DeployKey & { row: GateRow })[]> {
    const found = await rows<Row>(
      tx,
      `SELECT * FROM (SELECT g.*, row_number() OVER (PARTITION BY r.document ->> 'group' ORDER BY g.next_at, g.request_id) AS place
         FROM deploy_gate g JOIN pending_deploy p USING (request_id, deploy_id) JOIN request r ON r.id = g.request_id
         WHERE g.next_at IS NOT NULL AND (p.progress ->> 'step')::integer = g.step
           AND (p.progress ->> 'stepLaunchComplete')::boolean AND p.ending IS NULL AND p.cancel_requested_at IS NULL) AS g
       WHERE place <= $2 ORDER BY next_at, request_id LIMIT $1`,
      [most, mostOfGroup],
    );
    return found.map((row) => ({ requestId: row.request_id, deployId: row.deploy_id, row: fromRow(row) }));
  }

  /** Removes at most so many whose deploy is gone. Answers how many went. */
  async purgeOfGoneDeploys(tx: Transaction, most: number): Promise<number> {
    const isGone = `NOT EXISTS (SELECT 1 FROM deploy_history d WHERE (d.request_id, d.deploy_id) = (g.request_id, g.deploy_id))`;
    const gone = async (table: string): Promise<number> => {
      const sql = `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT g.ctid FROM ${table} g WHERE ${isGone} LIMIT $1)) RETURNING 1`;
      return (await rows(tx, sql, [most])).length;
    };
    return (await gone('deploy_gate')) + (await gone('gate_measurement'));
  }
}

const fromRow = (row: Row): GateRow => ({
  step: row.step,
  gate: row.gate,
  type: row.type,
  state: row.state,
  since: row.since.getTime(),
  nextAt: toMillis(row.next_at),
  endedAt: toMillis(row.ended_at),
  passes: row.passes,
  failures: row.failures,
  inconclusive: row.inconclusive,
  user: row.user_name ?? undefined,
  message: row.message ?? undefined,
});

const toMeasurement = ({ at, outcome, value, message }: MeasurementRow): GateMeasurement => ({
  at: at.getTime(),
  outcome,
  value: value ?? undefined,
  message: message ?? undefined,
});
