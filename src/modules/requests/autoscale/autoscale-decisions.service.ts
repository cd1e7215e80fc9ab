import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { autoscaleMessage, decideAutoscale, holdOf, type Measurement } from '../../../core/autoscale/index.js';
import { instancesOf } from '../../../core/model/request.js';
import { timeIn } from '../../../core/schedules/index.js';
import { DisabledActions } from '../../../platform/actions/disabled-actions.js';
import { Database } from '../../../platform/database/database.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SchedulerError } from '../../../platform/errors.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Rows } from '../../../rows.js';
import { Scaling } from '../actions/scaling.service.js';
import { type LockedRequest, RequestActions } from '../request-actions.service.js';
import type { StoredRequest } from '../request.repository.js';

/** The decisions, each in one transaction with the scale that it asks for. */
@Injectable()
export class AutoscaleDecisions {
  private readonly log = new Logger(AutoscaleDecisions.name);

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly actions: RequestActions,
    private readonly scaling: Scaling,
    private readonly disabled: DisabledActions,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Answers whether the request was scaled. `seen`: as it was when it was measured. */
  async decide(seen: StoredRequest, measured: Measurement | undefined): Promise<boolean> {
    try {
      return await this.db.leaderTransaction((tx) => this.decideIn(tx, seen, measured));
    } catch (cause) {
      if (!(cause instanceof SchedulerError)) throw cause;
      return this.db.leaderTransaction((tx) => this.decideIn(tx, seen, measured, cause.message));
    }
  }

  /** `refusal`: the scale was tried, and this stands in its way. */
  private async decideIn(
    tx: Transaction,
    { request: { id, autoscale: asked }, activeDeployId }: StoredRequest,
    measured: Measurement | undefined,
    refusal?: string,
  ): Promise<boolean> {
    const locked = await this.actions.lock(tx, id);
    const spec = locked?.stored.request.autoscale;
    // What was measured says nothing of another metric, nor of another deploy.
    if (!spec || !isDeepStrictEqual(spec, asked) || locked.stored.activeDeployId !== activeDeployId) return false;
    const former = (await this.rows.autoscales.find(tx, [id])).get(id);
    const instances = instancesOf(locked.stored.request);
    const hold = await this.hold(tx, locked);
    // It was not to be measured when it was seen, and now is: the next pass does.
    if (hold === undefined && !measured) return false;
    const facts = { instances, hold, measured };
    const everyMillis = this.settings.checkAutoscaleEverySeconds * 1000;
    const { state, to } = decideAutoscale(spec, facts, former, locked.now, everyMillis);
    if (to !== undefined && refusal !== undefined) {
      // It is tried in each pass.
      if (former?.reason !== refusal) this.log.warn(`Autoscaling of request '${id}' is refused: ${refusal}`);
      const { scaledAt, scaledFrom, scaledTo } = former ?? {};
      const refused = { ...state, outcome: 'REFUSED', instances, scaledAt, scaledFrom, scaledTo } as const;
      await this.rows.autoscales.save(tx, id, { ...refused, reason: refusal });
      return false;
    }
    await this.rows.autoscales.save(tx, id, state);
    if (to === undefined) return false;
    await this.scaling.autoscale(tx, locked, to, autoscaleMessage(spec, state));
    return true;
  }

  private async hold(tx: Transaction, { stored, facts }: LockedRequest): Promise<string | undefined> {
    const { request, pendingDeployId } = stored;
    const actions = await this.rows.expiringActions.ofRequests(tx, [request.id]);
    const scale = actions.find(({ kind }) => kind === 'SCALE');
    return holdOf({
      ...facts,
      pendingDeployId,
      expiringScale: scale && { until: timeIn('UTC', scale.startMillis + scale.durationMillis).utc, user: scale.user },
      frozen: (await this.rows.priorityFreezes.refusal(tx, request)) !== undefined,
      switchedOff: await this.disabled.isDisabled('SCALE_REQUEST', tx),
    });
  }
}
