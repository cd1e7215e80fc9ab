import { Inject, Injectable } from '@nestjs/common';
import { approversText } from '../../core/authorization/index.js';
import { decidedAt, isOpen, waitText } from '../../core/gates/index.js';
import type { Deploy, DeployHistory, DeployMarker } from '../../core/model/deploy.js';
import type { DeployGate } from '../../core/model/gate.js';
import { timeIn } from '../../core/schedules/index.js';
import type { HeldRequest } from '../../core/working-set/index.js';
import { Database } from '../../platform/database/database.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Rows } from '../../rows.js';
import type { WaitingGateDto } from './dto/explanation.dto.js';

/** Explains the gate for which a deploy in progress waits. */
@Injectable()
export class WaitingGates {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async waiting({ request, pendingDeploy }: HeldRequest): Promise<WaitingGateDto | undefined> {
    if (!pendingDeploy) return undefined;
    const [pending] = await this.rows.deploys.findPending(this.db.pool, [request.id]);
    const progress = pending?.progress;
    if (!pending || progress?.step === undefined) return undefined;
    const { step } = progress;
    const key = { requestId: request.id, deployId: pending.deployId };
    const [rows, stored] = await Promise.all([
      this.rows.deployGates.ofStep(this.db.pool, key, step),
      this.rows.deploys.find(this.db.pool, key),
    ]);
    const row = rows.find(isOpen);
    const gate = row && stored && gatesOf(stored.deploy)[row.gate - 1];
    if (!gate) return undefined;
    const lastMeasurement = await this.rows.deployGates.lastMeasurement(this.db.pool, key, row);
    const until = decidedAt(gate, row, { launchedAt: progress.timestamp });
    const approvers = `${approversText(this.settings.auth, request)}${exceptText(gate, stored.marker)}`;
    const message = waitText(gate, row, {
      until: until === undefined ? undefined : timeIn('UTC', until).utc,
      last: lastMeasurement,
      approvers,
    });
    const { gate: number, type, state, since } = row;
    return { deployId: key.deployId, step, gate: number, type, state, since, until, lastMeasurement, message };
  }

  /** A gate failed the deploy. */
  async hasFailed({ deployMarker, deployResult }: DeployHistory): Promise<boolean> {
    return deployResult?.deployState === 'FAILED' && this.rows.deployGates.hasFailed(this.db.pool, deployMarker);
  }
}

const gatesOf = (deploy: Deploy): readonly DeployGate[] => deploy.canaryDeploySettings?.gates ?? [];

const exceptText = ({ requireOtherApprover }: DeployGate, { user }: DeployMarker): string =>
  requireOtherApprover ? `, but not by ${user ?? 'the user'} who deployed` : '';
