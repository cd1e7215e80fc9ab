import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { afterMeasurement, type ComparedDeploys, measure } from '../../../core/gates/index.js';
import { type DeployKey, deployKeyText } from '../../../core/model/deploy.js';
import type { DeployGate, GateMeasurement, GateRow } from '../../../core/model/gate.js';
import { Clock } from '../../../platform/clock.js';
import { concernsAll } from '../../../platform/database/database-errors.js';
import { Database } from '../../../platform/database/database.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { ServiceAsker } from '../../../platform/service-asker.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { tellFailure } from '../../../platform/tell-failure.js';
import { Wake } from '../../../platform/wake/wake.js';
import { Rows } from '../../../rows.js';
import { measurementsOf } from './deploy-gate.repository.js';

/** Gates that one pass looks at, in all and of one group; the others follow in the next one. */
const mostInPass = 400;
const mostOfGroup = 50;
/** Shortest time before a gate is asked again whose answer could not be stored. */
const retryMillis = 1_000;

interface DueGate extends ComparedDeploys {
  spec: DeployGate;
  row: GateRow;
  /** Group of the request. */
  group?: string;
}

/**
 * Measures the gates of deploys that ask a service. Each question is asked outside of a transaction. Another one of the leader stores the
 * answer together with the state of the gate that follows from it; so a question may be asked twice after a crash, and counts once.
 */
@Injectable()
export class GatesPoller implements OnModuleInit {
  private readonly log = new Logger(GatesPoller.name);

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly asker: ServiceAsker,
    private readonly clock: Clock,
    private readonly wake: Wake,
    private readonly pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.pollers.register({
      name: 'gates',
      runsWhile: 'RUN_DEPLOY_POLLER',
      everyMs: this.settings.checkDeploysEverySeconds * 1000,
      pass: (now) => this.runOnce(now),
      wakeOn: ['gates'],
    });
  }

  /** One pass over the gates that are due. Answers the time of the next measurement. Public so that a test runs it with its own `now`. */
  async runOnce(now: number): Promise<number | undefined> {
    const measured = await this.rows.deployGates.measured(this.db.pool, mostInPass, mostOfGroup);
    const due = measured.filter(({ row }) => row.nextAt! <= now);
    if (due.length === 0) return measured[0]?.row.nextAt;
    const gates = await this.described(due);
    const stored = await this.asker.forAll(
      gates,
      ({ group }) => group,
      (gate) => this.guarded(gate),
    );
    const [next] = await this.rows.deployGates.measured(this.db.pool, 1, 1);
    // One that could not be stored is due still.
    const earliest = stored.filter(Boolean).length < due.length ? now + retryMillis : now;
    return next && Math.max(next.row.nextAt!, earliest);
  }

  private async described(due: readonly (DeployKey & { row: GateRow })[]): Promise<DueGate[]> {
    const ids = due.map(({ requestId }) => requestId);
    const [deploys, requests] = await Promise.all([
      this.rows.deploys.findMany(this.db.pool, due),
      this.rows.requests.findMany(this.db.pool, ids),
    ]);
    const stored = new Map(requests.map((request) => [request.request.id, request]));
    return due.flatMap(({ requestId, deployId, row }): DueGate[] => {
      const spec = deploys.get(deployKeyText({ requestId, deployId }))?.deploy.canaryDeploySettings?.gates?.[
        row.gate - 1
      ];
      const { activeDeployId, request } = stored.get(requestId) ?? {};
      return spec ? [{ requestId, deployId, activeDeployId, group: request?.group, row, spec }] : [];
    });
  }

  /** The others are still measured when one goes wrong. */
  private async guarded(gate: DueGate): Promise<boolean> {
    try {
      const answer = await this.asker.ask(gate.spec, gate, gate.group);
      const measurement = { at: this.clock.now(), ...measure(gate.spec, answer) };
      const isDecided = await this.db.leaderTransaction((tx) => this.store(tx, gate, measurement));
      if (isDecided) this.wake.signalOf([gate.requestId], 'deploys');
      return true;
    } catch (cause) {
      if (concernsAll(cause)) throw cause;
      tellFailure(this.log, `A gate of deploy ${gate.deployId} of request ${gate.requestId} is stuck`, cause);
      return false;
    }
  }

  /** Answers whether the gate is decided by it. One that is not as it was when it was asked keeps nothing of it. */
  private async store(
    tx: Transaction,
    { spec, row: asked, ...key }: DueGate,
    measurement: GateMeasurement,
  ): Promise<boolean> {
    await this.rows.requests.lock(tx, key.requestId);
    const [pending] = await this.rows.deploys.findPending(tx, [key.requestId]);
    if (pending?.deployId !== key.deployId || pending.progress?.step !== asked.step) return false;
    const row = (await this.rows.deployGates.ofStep(tx, key, asked.step)).find(({ gate }) => gate === asked.gate);
    if (row?.state !== 'WAITING' || measurementsOf(row) !== measurementsOf(asked)) return false;
    const after = afterMeasurement(spec, row, measurement, measurement.at);
    await this.rows.deployGates.addMeasurement(tx, key, after, measurement);
    await this.rows.deployGates.save(tx, key, after);
    return after.state !== 'WAITING';
  }
}
