import { PlacementOverrideEntity } from './modules/configuration/placement-override.entity.js';
import { AuditEntity } from './modules/auth/audit/audit.entity.js';
import { AuthSessionEntity } from './modules/auth/sessions/auth-session.entity.js';
import { AuthLookupKeyEntity } from './modules/auth/tokens/auth-lookup-key.entity.js';
import { AuthTokenEntity } from './modules/auth/tokens/auth-token.entity.js';
import { DeployHistoryEntity } from './modules/deploys/deploy.entity.js';
import { DeployGateEntity, GateMeasurementEntity } from './modules/deploys/gates/deploy-gate.entity.js';
import { DeployStatisticsEntity } from './modules/deploys/deploy-statistics.entity.js';
import { PendingDeployEntity } from './modules/deploys/deploy.entity.js';
import {
  ActiveDisasterEntity,
  AutomatedActionsEntity,
  DisasterDataPointEntity,
} from './modules/disasters/disaster.entity.js';
import { HistoryBackfillEntity, UnreadableHistoryEntity } from './modules/history/backfill/history-backfill.entity.js';
import { TaskHistoryEntity } from './modules/history/task-history.entity.js';
import { InactiveHostEntity } from './modules/slaves/inactive-hosts/inactive-host.entity.js';
import { LoadBalancerDeletionEntity } from './modules/load-balancer/load-balancer-deletion.entity.js';
import { LoadBalancerRecordEntity } from './modules/tasks/balancing/load-balancer-record.entity.js';
import { LoadBalancerRemovalEntity } from './modules/tasks/balancing/load-balancer-removal.entity.js';
import { LogLinkKeyEntity } from './modules/logs/log-link-key.entity.js';
import { PriorityFreezeEntity } from './modules/priority/priority-freeze.entity.js';
import { InstanceEntity } from './modules/leadership/instance.entity.js';
import { MailEntity, MailRateEntity } from './modules/mail/mail.entity.js';
import { MailAllowlistEntity, MailBlacklistEntity } from './modules/users/mail-blacklist.entity.js';
import { RackEntity } from './modules/slaves/rack.entity.js';
import { RequestGroupEntity } from './modules/requests/groups/request-group.entity.js';
import { RunBackfillEntity, RunBackfillTimeEntity } from './modules/requests/backfills/run-backfill.entity.js';
import { CrashLoopEntity } from './modules/requests/crash-loops/crash-loop.entity.js';
import { AutoscaleEntity } from './modules/requests/autoscale/autoscale.entity.js';
import { ExpiringActionEntity } from './platform/actions/expiring-action.entity.js';
import { RequestCleanupEntity } from './modules/requests/request-cleanup.entity.js';
import { RequestHistoryEntity } from './modules/requests/request.entity.js';
import { RequestEntity } from './modules/requests/request.entity.js';
import { ShuffleBlacklistEntity } from './modules/usage/shuffle-blacklist.entity.js';
import { AgentCursorEntity } from './scheduler/status/agent-cursor.entity.js';
import { MachineHistoryEntity } from './modules/slaves/machine-history.entity.js';
import { SlaveEntity } from './modules/slaves/slave.entity.js';
import { TaskReconciliationEntity } from './modules/state/task-reconciliation.entity.js';
import { KilledTaskEntity, TaskCleanupEntity } from './modules/tasks/task-cleanup.entity.js';
import { InstanceFailureEntity } from './modules/tasks/instance-failure.entity.js';
import { TaskProgramEntity } from './modules/tasks/programs/task-program.entity.js';
import { PendingRequestEntity, PendingTaskEntity } from './modules/tasks/pending-task.entity.js';
import {
  ReconciliationWishEntity,
  TaskLaunchEntity,
  TaskUpdateEntity,
  TaskEntity,
} from './modules/tasks/task.entity.js';
import { ReplacementWaveEntity, TaskLivenessEntity } from './modules/tasks/health/task-liveness.entity.js';
import { TaskHealthcheckEntity } from './modules/tasks/health/task-healthcheck.entity.js';
import { TaskUsageEntity } from './modules/usage/task-usage.entity.js';
import { ClusterUtilizationEntity, RequestUtilizationEntity, SlaveUsageEntity } from './modules/usage/usage.entity.js';
import { TaskMetadataEntity } from './modules/tasks/metadata/task-metadata.entity.js';
import {
  TaskShellCommandEntity,
  TaskShellCommandUpdateEntity,
} from './modules/tasks/shell-commands/task-shell-command.entity.js';
import { UserSettingsEntity } from './modules/users/user-settings.entity.js';
import { FlowEdgeEntity, FlowEntity, FlowFanInEntity, FlowRunEntity } from './modules/flows/flow.entity.js';
import { LiveEventCountEntity, LiveEventEntity } from './modules/events/live-event.entity.js';
import { WebhookDeadLetterEntity } from './modules/webhooks/webhook-dead-letter.entity.js';
import { WebhookUpdateEntity } from './modules/webhooks/webhook-update.entity.js';
import { WebhookEntity } from './modules/webhooks/webhook.entity.js';
import { DisabledActionEntity } from './platform/actions/disabled-action.entity.js';
import { IdempotentCallEntity } from './platform/idempotency/idempotent-call.entity.js';
import { LeaderEpochEntity } from './platform/leadership/leader.entity.js';
import { LeaderLeaseEntity } from './platform/leadership/leader.entity.js';
import { WaitingReasonEntity } from './scheduler/explain/waiting-reason.entity.js';
import { LeaderChangeEntity } from './scheduler/memory/leader-change.entity.js';
import { HeldStatusUpdateEntity } from './scheduler/status/held-status-update.entity.js';

/** Every table that TypeORM knows. A test finds no difference between these and the migrated schema. */
export const entities = [
  ActiveDisasterEntity,
  AgentCursorEntity,
  CrashLoopEntity,
  AuditEntity,
  AuthLookupKeyEntity,
  AuthSessionEntity,
  AuthTokenEntity,
  AutomatedActionsEntity,
  AutoscaleEntity,
  ClusterUtilizationEntity,
  DeployGateEntity,
  DeployHistoryEntity,
  GateMeasurementEntity,
  DeployStatisticsEntity,
  DisabledActionEntity,
  DisasterDataPointEntity,
  ExpiringActionEntity,
  FlowEdgeEntity,
  FlowEntity,
  FlowFanInEntity,
  FlowRunEntity,
  HistoryBackfillEntity,
  IdempotentCallEntity,
  InactiveHostEntity,
  InstanceEntity,
  HeldStatusUpdateEntity,
  KilledTaskEntity,
  LeaderChangeEntity,
  LeaderEpochEntity,
  LeaderLeaseEntity,
  LiveEventCountEntity,
  LiveEventEntity,
  LoadBalancerDeletionEntity,
  LoadBalancerRecordEntity,
  LoadBalancerRemovalEntity,
  LogLinkKeyEntity,
  MachineHistoryEntity,
  MailAllowlistEntity,
  MailBlacklistEntity,
  MailEntity,
  MailRateEntity,
  PendingDeployEntity,
  PendingRequestEntity,
  PendingTaskEntity,
  PlacementOverrideEntity,
  PriorityFreezeEntity,
  RackEntity,
  ReconciliationWishEntity,
  RequestCleanupEntity,
  RequestEntity,
  RunBackfillEntity,
  RunBackfillTimeEntity,
  RequestGroupEntity,
  RequestHistoryEntity,
  RequestUtilizationEntity,
  ShuffleBlacklistEntity,
  SlaveEntity,
  SlaveUsageEntity,
  TaskCleanupEntity,
  TaskEntity,
  InstanceFailureEntity,
  TaskProgramEntity,
  ReplacementWaveEntity,
  TaskHealthcheckEntity,
  TaskLivenessEntity,
  TaskHistoryEntity,
  TaskLaunchEntity,
  TaskMetadataEntity,
  TaskReconciliationEntity,
  TaskShellCommandEntity,
  TaskShellCommandUpdateEntity,
  TaskUpdateEntity,
  TaskUsageEntity,
  UserSettingsEntity,
  UnreadableHistoryEntity,
  WaitingReasonEntity,
  WebhookDeadLetterEntity,
  WebhookEntity,
  WebhookUpdateEntity,
];
