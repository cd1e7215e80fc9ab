import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { SlavesModule } from '../slaves/slaves.module.js';
import { TaskStoreModule } from '../tasks/task-store.module.js';
import { Bounces } from './actions/bounces.service.js';
import { Deletions } from './actions/deletions.service.js';
import { HealthcheckSkips } from './actions/healthcheck-skips.service.js';
import { Pauses } from './actions/pauses.service.js';
import { Priorities } from './actions/priorities.service.js';
import { Runs } from './actions/runs.service.js';
import { Scaling } from './actions/scaling.service.js';
import { CrashLoopsController } from './crash-loops/crash-loops.controller.js';
import { CrashLoops } from './crash-loops/crash-loops.service.js';
import { BackfillsController } from './backfills/backfills.controller.js';
import { BackfillsPoller } from './backfills/backfills.poller.js';
import { Backfills } from './backfills/backfills.service.js';
import { AutoscaleDecisions } from './autoscale/autoscale-decisions.service.js';
import { AutoscaleMetrics } from './autoscale/autoscale-metrics.service.js';
import { AutoscalePoller } from './autoscale/autoscale.poller.js';
import { BounceReverts } from './expiring/bounce-reverts.service.js';
import { ExpiringPoller, ExpiringReverts } from './expiring/expiring.poller.js';
import { ExpiringRemovals } from './expiring/expiring-removals.service.js';
import { RequestExpiringController } from './expiring/request-expiring.controller.js';
import { RequestGroupsController } from './groups/request-groups.controller.js';
import { RequestGroupsService } from './groups/request-groups.service.js';
import { RequestActionsController, RequestRunsController } from './request-actions.controller.js';
import { RequestActions } from './request-actions.service.js';
import { RequestChanges } from './request-changes.service.js';
import { RequestChecks } from './request-checks.service.js';
import { RequestQuotas } from './request-quotas.service.js';
import { RequestLists } from './request-lists.service.js';
import { RequestParents } from './request-parents.service.js';
import { RequestReadsController } from './request-reads.controller.js';
import { RequestReads } from './request-reads.service.js';
import { RequestSaves } from './request-saves.service.js';
import { RequestsController } from './requests.controller.js';
import { RequestsService } from './requests.service.js';
import { SchedulesController } from './schedules/schedules.controller.js';
import { SchedulePreviews } from './schedules/schedule-previews.service.js';
import { UpcomingRuns } from './schedules/upcoming-runs.service.js';
import { SpreadAllPoller } from './spread-all.poller.js';

/** Requests: their reads, their actions and their groups. */
@Module({
  imports: [AuthModule, TaskStoreModule, SlavesModule],
  controllers: [
    RequestReadsController,
    RequestGroupsController,
    RequestsController,
    RequestActionsController,
    RequestRunsController,
    RequestExpiringController,
    CrashLoopsController,
    SchedulesController,
    BackfillsController,
  ],
  providers: [
    RequestActions,
    RequestChanges,
    RequestChecks,
    RequestQuotas,
    RequestLists,
    RequestParents,
    RequestReads,
    RequestSaves,
    RequestsService,
    Bounces,
    Deletions,
    HealthcheckSkips,
    Pauses,
    Priorities,
    Runs,
    Scaling,
    AutoscaleMetrics,
    AutoscaleDecisions,
    AutoscalePoller,
    BounceReverts,
    ExpiringRemovals,
    ExpiringReverts,
    ExpiringPoller,
    CrashLoops,
    SchedulePreviews,
    UpcomingRuns,
    Backfills,
    BackfillsPoller,
    RequestGroupsService,
    SpreadAllPoller,
  ],
  exports: [
    RequestSaves,
    RequestParents,
    RequestChecks,
    RequestQuotas,
    RequestActions,
    RequestChanges,
    RequestGroupsService,
    Pauses,
    Scaling,
  ],
})
export class RequestsModule {}
