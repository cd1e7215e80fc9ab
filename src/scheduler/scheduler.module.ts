import { Module } from '@nestjs/common';
import { AuthModule } from '../modules/auth/auth.module.js';
import { FlowStoreModule } from '../modules/flows/flow-store.module.js';
import { HistoryMoverModule } from '../modules/history/history.module.js';
import { LoadBalancerClientModule } from '../platform/load-balancer/load-balancer-client.module.js';
import { SlavesModule } from '../modules/slaves/slaves.module.js';
import { TaskStoreModule } from '../modules/tasks/task-store.module.js';
import { SchedulerControls } from '../modules/test-operations/test-operations.service.js';
import { KnownFleet } from './cluster/known-fleet.service.js';
import { ClusterConnection } from './cluster/cluster-connection.service.js';
import { ClusterWatch } from './cluster/cluster-watch.service.js';
import { HeldMachines } from './cluster/held-machines.service.js';
import { SilentAgents } from './cluster/silent-agents.service.js';
import { SlaveReconciliation } from './cluster/slave-reconciliation.service.js';
import { KillDispatcher } from './dispatch/kill-dispatcher.service.js';
import { LaunchAnswers } from './dispatch/launch-answers.service.js';
import { LaunchDispatcher } from './dispatch/launch-dispatcher.service.js';
import { DrainService } from './drain/drain.service.js';
import { DrainedStates } from './drain/drained-states.service.js';
import { RunPlanning } from './drain/run-planning.service.js';
import {
  RequestExplainController,
  TaskExplainController,
  WaitingReasonsController,
} from './explain/explain.controller.js';
import { ExplainLoader } from './explain/explain-loader.service.js';
import { ExplainService } from './explain/explain.service.js';
import { WaitingGates } from './explain/waiting-gates.service.js';
import { WaitingReasons } from './explain/waiting-reasons.service.js';
import { FlowOutputs } from './flows/flow-outputs.poller.js';
import { FlowPoller } from './flows/flow.poller.js';
import { FlowReleases } from './flows/flow-releases.service.js';
import { LeaderMemory } from './memory/leader-memory.service.js';
import { MemoryCheck } from './memory/memory-check.service.js';
import { RunTimes } from './memory/run-times.service.js';
import { UnaskedMachines } from './memory/unasked-machines.js';
import { UsageMetricsLoader } from './memory/usage-metrics.service.js';
import { UsageRechecks } from './memory/usage-rechecks.service.js';
import { WorkingSetLoader } from './memory/working-set-loader.service.js';
import { PlacementService } from './placement/placement.service.js';
import { PlacementSwitches } from './placement/placement-switches.service.js';
import { PlacementWriter } from './placement/placement-writer.service.js';
import { RecentTasks } from './placement/recent-tasks.service.js';
import { SetAsideTasks } from './placement/set-aside.service.js';
import { ClockSetBack } from './clock-set-back.service.js';
import { CooldownPoller } from './pollers/cooldown.poller.js';
import { CrashLoopPoller } from './pollers/crash-loop.poller.js';
import { JobPoller } from './pollers/job.poller.js';
import { AskedTasks } from './reconciliation/asked-tasks.service.js';
import { ListComparison } from './reconciliation/list-comparison.service.js';
import { Reconciliation } from './reconciliation/reconciliation.service.js';
import { LocalSchedulerControls } from './scheduler-controls.service.js';
import { SchedulerTerm } from './scheduler-term.service.js';
import { Dispatch, Scheduler } from './scheduler.service.js';
import { Completions } from './status/completions.service.js';
import { DatalessTasks } from './status/dataless-tasks.service.js';
import { HeldUpdatesPoller } from './status/held-updates.poller.js';
import { HeldUpdates } from './status/held-updates.service.js';
import { ReturnedTasks } from './status/returned-tasks.service.js';
import { StatusApplier } from './status/status-applier.service.js';
import { StartOrder } from './placement/start-order.service.js';
import { StatusFollowUp } from './status/status-follow-up.service.js';
import { StatusUpdates } from './status/status-updates.service.js';
import { UnwantedTasks } from './status/unwanted-tasks.service.js';

/** From the wish to run a task to its start on a machine, and from what machines report to what follows. */
@Module({
  imports: [AuthModule, FlowStoreModule, TaskStoreModule, SlavesModule, HistoryMoverModule, LoadBalancerClientModule],
  controllers: [TaskExplainController, WaitingReasonsController, RequestExplainController],
  providers: [
    Scheduler,
    Dispatch,
    SchedulerTerm,
    DrainService,
    DrainedStates,
    RunPlanning,
    PlacementService,
    PlacementSwitches,
    StartOrder,
    ExplainService,
    WaitingGates,
    ExplainLoader,
    WaitingReasons,
    LeaderMemory,
    UnaskedMachines,
    RunTimes,
    MemoryCheck,
    UsageMetricsLoader,
    UsageRechecks,
    WorkingSetLoader,
    PlacementWriter,
    RecentTasks,
    SetAsideTasks,
    LaunchDispatcher,
    LaunchAnswers,
    KillDispatcher,
    ClusterWatch,
    ClusterConnection,
    KnownFleet,
    SlaveReconciliation,
    SilentAgents,
    HeldMachines,
    StatusUpdates,
    StatusApplier,
    StatusFollowUp,
    UnwantedTasks,
    Completions,
    DatalessTasks,
    HeldUpdates,
    ClockSetBack,
    HeldUpdatesPoller,
    ReturnedTasks,
    AskedTasks,
    ListComparison,
    Reconciliation,
    FlowReleases,
    FlowOutputs,
    FlowPoller,
    CooldownPoller,
    CrashLoopPoller,
    JobPoller,
    { provide: SchedulerControls, useClass: LocalSchedulerControls },
  ],
  exports: [ExplainLoader, PlacementService, SchedulerControls],
})
export class SchedulerModule {}
