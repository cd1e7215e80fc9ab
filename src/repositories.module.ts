import { Global, Module } from '@nestjs/common';
import { AgentCursorRepository } from './scheduler/status/agent-cursor.repository.js';
import { AuditRepository } from './modules/auth/audit/audit.repository.js';
import { AuthSessionRepository } from './modules/auth/sessions/auth-session.repository.js';
import { AuthTokenRepository } from './modules/auth/tokens/auth-token.repository.js';
import { PlacementOverrideRepository } from './modules/configuration/placement-override.repository.js';
import { CrashLoopRepository } from './modules/requests/crash-loops/crash-loop.repository.js';
import { DeployGateRepository } from './modules/deploys/gates/deploy-gate.repository.js';
import { DeployHistoryRepository } from './modules/deploys/deploy-history.repository.js';
import { DeployRepository } from './modules/deploys/deploy.repository.js';
import { DeployTimesRepository } from './modules/deploys/deploy-times.repository.js';
import { DeployStatisticsRepository } from './modules/deploys/deploy-statistics.repository.js';
import { DisasterRepository } from './modules/disasters/disaster.repository.js';
import { ExpiringActionRepository } from './platform/actions/expiring-action.repository.js';
import { FlowGraphRepository } from './modules/flows/flow-graph.repository.js';
import { FlowRepository } from './modules/flows/flow.repository.js';
import { FlowRunRepository } from './modules/flows/flow-run.repository.js';
import { HeldStatusUpdateRepository } from './scheduler/status/held-status-update.repository.js';
import { HistoryBackfillRepository } from './modules/history/backfill/history-backfill.repository.js';
import { InactiveHostRepository } from './modules/slaves/inactive-hosts/inactive-host.repository.js';
import { InstanceFailureRepository } from './modules/tasks/instance-failure.repository.js';
import { InstanceRepository } from './modules/leadership/instance.repository.js';
import { KilledTaskRepository } from './modules/tasks/killed-task.repository.js';
import { LaunchedTaskRepository } from './modules/tasks/launched-task.repository.js';
import { LeaderChangeRepository } from './scheduler/memory/leader-change.repository.js';
import { LiveTaskHistoryRepository } from './modules/history/live-task-history.repository.js';
import { LoadBalancerDeletionRepository } from './modules/load-balancer/load-balancer-deletion.repository.js';
import { LoadBalancerRecordRepository } from './modules/tasks/balancing/load-balancer-record.repository.js';
import { LoadBalancerRemovalRepository } from './modules/tasks/balancing/load-balancer-removal.repository.js';
import { LongRunRepository } from './modules/tasks/long-run.repository.js';
import { MachineHistoryRepository } from './modules/slaves/machine-history.repository.js';
import { MachineTaskRepository } from './modules/tasks/machine-task.repository.js';
import { MailOutboxRepository } from './modules/mail/mail-outbox.repository.js';
import { MailQueueRepository } from './modules/mail/mail-queue.repository.js';
import { MailBlacklistRepository } from './modules/users/mail-blacklist.repository.js';
import { PendingRequestRepository } from './modules/tasks/pending-request.repository.js';
import { PendingTaskRepository } from './modules/tasks/pending-task.repository.js';
import { PriorityFreezeRepository } from './modules/priority/priority-freeze.repository.js';
import { RequestParentRepository } from './modules/requests/request-parent.repository.js';
import { ReconciliationWishRepository } from './modules/tasks/reconciliation-wish.repository.js';
import { AutoscaleRepository } from './modules/requests/autoscale/autoscale.repository.js';
import { RunBackfillRepository } from './modules/requests/backfills/run-backfill.repository.js';
import { WaitingRunRepository } from './modules/tasks/waiting-run.repository.js';
import { ConcurrencyGroupRepository } from './modules/requests/concurrency-group.repository.js';
import { RequestAccessRepository } from './modules/requests/request-access.repository.js';
import { RequestCleanupRepository } from './modules/requests/request-cleanup.repository.js';
import { RequestGroupRepository } from './modules/requests/groups/request-group.repository.js';
import { RequestCreationRepository } from './modules/requests/request-creation.repository.js';
import { RequestHistoryRepository } from './modules/requests/request-history.repository.js';
import { RequestQuotaRepository } from './modules/requests/request-quota.repository.js';
import { RequestRepository } from './modules/requests/request.repository.js';
import { RequestTimingRepository } from './modules/requests/request-timing.repository.js';
import { Rows } from './rows.js';
import { ShellCommandRepository } from './modules/tasks/shell-commands/shell-command.repository.js';
import { ShuffleBlacklistRepository } from './modules/usage/shuffle-blacklist.repository.js';
import { SlaveRepository } from './modules/slaves/slave.repository.js';
import { StateRepository } from './modules/state/state.repository.js';
import { TaskCleanupRepository } from './modules/tasks/task-cleanup.repository.js';
import { TaskHealthcheckRepository } from './modules/tasks/health/task-healthcheck.repository.js';
import { TaskLivenessRepository } from './modules/tasks/health/task-liveness.repository.js';
import { TaskHistoryMoveRepository } from './modules/history/task-history-move.repository.js';
import { TaskHistoryRepository } from './modules/history/task-history.repository.js';
import { LogLinkKeyRepository } from './modules/logs/log-link-key.repository.js';
import { UploadPlacesRepository } from './modules/logs/upload-places.repository.js';
import { TaskLaunchRepository } from './modules/tasks/task-launch.repository.js';
import { TaskProgramRepository } from './modules/tasks/programs/task-program.repository.js';
import { TaskMetadataRepository } from './modules/tasks/metadata/task-metadata.repository.js';
import { TaskRepository } from './modules/tasks/task.repository.js';
import { TaskSearchRepository } from './modules/history/task-search.repository.js';
import { TaskStatusRepository } from './modules/tasks/task-status.repository.js';
import { TaskUsageRepository } from './modules/usage/task-usage.repository.js';
import { UsageRepository } from './modules/usage/usage.repository.js';
import { UserSettingsRepository } from './modules/users/user-settings.repository.js';
import { WatchedTaskRepository } from './modules/tasks/health/watched-task.repository.js';
import { PlannedRunRepository } from './modules/tasks/planned-run.repository.js';
import { WaitingReasonRepository } from './scheduler/explain/waiting-reason.repository.js';
import { LiveEventRepository } from './modules/events/live-event.repository.js';
import { OutboxRepository } from './modules/events/outbox.repository.js';
import { WebhookOutboxRepository } from './modules/webhooks/webhook-outbox.repository.js';
import { WebhookQueueRepository } from './modules/webhooks/webhook-queue.repository.js';
import { WebhookRepository } from './modules/webhooks/webhook.repository.js';

const repositories = [
  AgentCursorRepository,
  AuditRepository,
  AuthSessionRepository,
  AuthTokenRepository,
  CrashLoopRepository,
  DeployGateRepository,
  DeployHistoryRepository,
  DeployRepository,
  DeployStatisticsRepository,
  DeployTimesRepository,
  DisasterRepository,
  ExpiringActionRepository,
  FlowGraphRepository,
  FlowRepository,
  FlowRunRepository,
  HeldStatusUpdateRepository,
  HistoryBackfillRepository,
  InactiveHostRepository,
  InstanceFailureRepository,
  InstanceRepository,
  KilledTaskRepository,
  LaunchedTaskRepository,
  LeaderChangeRepository,
  LiveEventRepository,
  LiveTaskHistoryRepository,
  LoadBalancerDeletionRepository,
  LoadBalancerRecordRepository,
  LoadBalancerRemovalRepository,
  LongRunRepository,
  MachineHistoryRepository,
  MachineTaskRepository,
  MailBlacklistRepository,
  MailOutboxRepository,
  MailQueueRepository,
  OutboxRepository,
  PendingRequestRepository,
  PendingTaskRepository,
  PlacementOverrideRepository,
  PlannedRunRepository,
  PriorityFreezeRepository,
  RequestParentRepository,
  ReconciliationWishRepository,
  AutoscaleRepository,
  ConcurrencyGroupRepository,
  RunBackfillRepository,
  WaitingRunRepository,
  RequestAccessRepository,
  RequestCleanupRepository,
  RequestGroupRepository,
  RequestCreationRepository,
  RequestHistoryRepository,
  RequestQuotaRepository,
  RequestRepository,
  RequestTimingRepository,
  ShellCommandRepository,
  ShuffleBlacklistRepository,
  SlaveRepository,
  StateRepository,
  TaskCleanupRepository,
  TaskHealthcheckRepository,
  TaskLivenessRepository,
  TaskHistoryMoveRepository,
  TaskHistoryRepository,
  LogLinkKeyRepository,
  UploadPlacesRepository,
  TaskLaunchRepository,
  TaskMetadataRepository,
  TaskProgramRepository,
  TaskRepository,
  TaskSearchRepository,
  TaskStatusRepository,
  TaskUsageRepository,
  UsageRepository,
  UserSettingsRepository,
  WatchedTaskRepository,
  WaitingReasonRepository,
  WebhookOutboxRepository,
  WebhookQueueRepository,
  WebhookRepository,
];

/** The rows of all rooms. Global: a repository knows no room, so no room has to import another one to ask for its rows. */
@Global()
@Module({ providers: [...repositories, Rows], exports: [...repositories, Rows] })
export class RepositoriesModule {}
