import { Leadership1763700000000 } from '../../../migrations/1763700000000-leadership.js';
import { Requests1763700100000 } from '../../../migrations/1763700100000-requests.js';
import { Deploys1763700200000 } from '../../../migrations/1763700200000-deploys.js';
import { Tasks1763700300000 } from '../../../migrations/1763700300000-tasks.js';
import { Machines1763700400000 } from '../../../migrations/1763700400000-machines.js';
import { History1763700500000 } from '../../../migrations/1763700500000-history.js';
import { Webhooks1763700600000 } from '../../../migrations/1763700600000-webhooks.js';
import { LeaderMemory1763800000000 } from '../../../migrations/1763800000000-leader-memory.js';
import { WaitingReasons1763800050000 } from '../../../migrations/1763800050000-waiting-reasons.js';
import { OverdueAlerts1763800100000 } from '../../../migrations/1763800100000-overdue-alerts.js';
import { CrashLoops1763800200000 } from '../../../migrations/1763800200000-crash-loops.js';
import { ExactAverages1763800200001 } from '../../../migrations/1763800200001-exact-averages.js';
import { StatusUpdates1763800300000 } from '../../../migrations/1763800300000-status-updates.js';
import { PriorityFreeze1763800400000 } from '../../../migrations/1763800400000-priority-freeze.js';
import { Disasters1763800400001 } from '../../../migrations/1763800400001-disasters.js';
import { Usage1763800500000 } from '../../../migrations/1763800500000-usage.js';
import { InactiveHosts1763800600000 } from '../../../migrations/1763800600000-inactive-hosts.js';
import { Instances1763800700000 } from '../../../migrations/1763800700000-instances.js';
import { LoadBalancer1763900000000 } from '../../../migrations/1763900000000-load-balancer.js';
import { DeployBalance1763900100000 } from '../../../migrations/1763900100000-deploy-balance.js';
import { HealthcheckBounds1763900300000 } from '../../../migrations/1763900300000-healthcheck-bounds.js';
import { ShellCommands1763900500000 } from '../../../migrations/1763900500000-shell-commands.js';
import { Auth1763910000000 } from '../../../migrations/1763910000000-auth.js';
import { HistorySearch1763920000000 } from '../../../migrations/1763920000000-history-search.js';
import { HistoryBackfill1763920000001 } from '../../../migrations/1763920000001-history-backfill.js';
import { RequestGroups1763930000000 } from '../../../migrations/1763930000000-request-groups.js';
import { MailBlacklist1763930000001 } from '../../../migrations/1763930000001-mail-blacklist.js';
import { BouncingRequests1763950000000 } from '../../../migrations/1763950000000-bouncing-requests.js';
import { CleanupType1764000000000 } from '../../../migrations/1764000000000-cleanup-type.js';
import { EndedRequests1765140000000 } from '../../../migrations/1765140000000-ended-requests.js';
import { Audit1765150000001 } from '../../../migrations/1765150000001-audit.js';
import { ImportItems1765260000000 } from '../../../migrations/1765260000000-import-items.js';
import { IdempotentCalls1765150000002 } from '../../../migrations/1765150000002-idempotent-calls.js';
import { PlacementOverride1765270000000 } from '../../../migrations/1765270000000-placement-override.js';
import { MailAllowlist1765270000001 } from '../../../migrations/1765270000001-mail-allowlist.js';
import { Mail1765450000000 } from '../../../migrations/1765450000000-mail.js';
import { LiveEvents1765520000000 } from '../../../migrations/1765520000000-live-events.js';
import { WebhookResults1765520000001 } from '../../../migrations/1765520000001-webhook-results.js';
import { ReportViews1765540000000 } from '../../../migrations/1765540000000-report-views.js';
import { Workers1765830000000 } from '../../../migrations/1765830000000-workers.js';
import { AgentReach1765840000001 } from '../../../migrations/1765840000001-agent-reach.js';
import { WhenWaitsBegan1765920000000 } from '../../../migrations/1765920000000-when-waits-began.js';
import { InactiveHostsNoted1766016000000 } from '../../../migrations/1766016000000-inactive-hosts-noted.js';
import { SinceWhenTasksCount1766030000000 } from '../../../migrations/1766030000000-since-when-tasks-count.js';
import { ScheduleStart1766100000000 } from '../../../migrations/1766100000000-schedule-start.js';
import { RemovalManner1766100000001 } from '../../../migrations/1766100000001-removal-manner.js';
import { UserPreferences1766448000000 } from '../../../migrations/1766448000000-user-preferences.js';
import { SkippedRuns1766100000002 } from '../../../migrations/1766100000002-skipped-runs.js';
import { SeveralTokens1765150000000 } from '../../../migrations/1765150000000-several-tokens.js';
import { WhyDeploysWait1765640000000 } from '../../../migrations/1765640000000-why-deploys-wait.js';
import { RequestsByGroup1766275200000 } from '../../../migrations/1766275200000-requests-by-group.js';
import { DataDirOfInstances1766361600000 } from '../../../migrations/1766361600000-data-dir-of-instances.js';
import { AuthSession1766450000000 } from '../../../migrations/1766450000000-auth-session.js';
import { AuditReads1766450000001 } from '../../../migrations/1766450000001-audit-reads.js';
import { FailedRuns1766520000000 } from '../../../migrations/1766520000000-failed-runs.js';
import { RunBackfills1766520000002 } from '../../../migrations/1766520000002-run-backfills.js';
import { ConcurrencyGroups1766520000001 } from '../../../migrations/1766520000001-concurrency-groups.js';
import { Flows1766534400000 } from '../../../migrations/1766534400000-flows.js';
import { RequestPlanning1766540000000 } from '../../../migrations/1766540000000-request-planning.js';
import { Liveness1766650000000 } from '../../../migrations/1766650000000-liveness.js';
import { DeploysWithLiveness1766650000001 } from '../../../migrations/1766650000001-deploys-with-liveness.js';
import { InstanceFailures1766650000002 } from '../../../migrations/1766650000002-instance-failures.js';
import { NextRunsOfTimetables1766700000000 } from '../../../migrations/1766700000000-next-runs-of-timetables.js';
import { StartOrder1766760000000 } from '../../../migrations/1766760000000-start-order.js';
import { DeployGates1766770000000 } from '../../../migrations/1766770000000-deploy-gates.js';
import { GivenUpTasks1766780000000 } from '../../../migrations/1766780000000-given-up-tasks.js';
import { DeployFreezes1766790000000 } from '../../../migrations/1766790000000-deploy-freezes.js';
import { Autoscaling1766800000000 } from '../../../migrations/1766800000000-autoscaling.js';
import { TaskPrograms1766810000000 } from '../../../migrations/1766810000000-task-programs.js';
import { ExtendedResources1766815000000 } from '../../../migrations/1766815000000-extended-resources.js';
import { GroupDeployWindows1766820000000 } from '../../../migrations/1766820000000-group-deploy-windows.js';
import { UnansweredLaunches1766830000000 } from '../../../migrations/1766830000000-unanswered-launches.js';
import { LogLinkKey1766840000000 } from '../../../migrations/1766840000000-log-link-key.js';
import { BytesOfRuns1766850000000 } from '../../../migrations/1766850000000-bytes-of-runs.js';
import { BytesOfRecords1766900000000 } from '../../../migrations/1766900000000-bytes-of-records.js';

/** Every migration, in order. Named here one by one: what is compiled in is what runs. */
export const migrations = [
  Leadership1763700000000,
  Requests1763700100000,
  Deploys1763700200000,
  Tasks1763700300000,
  Machines1763700400000,
  History1763700500000,
  Webhooks1763700600000,
  LeaderMemory1763800000000,
  WaitingReasons1763800050000,
  OverdueAlerts1763800100000,
  CrashLoops1763800200000,
  ExactAverages1763800200001,
  StatusUpdates1763800300000,
  PriorityFreeze1763800400000,
  Disasters1763800400001,
  Usage1763800500000,
  InactiveHosts1763800600000,
  Instances1763800700000,
  LoadBalancer1763900000000,
  DeployBalance1763900100000,
  HealthcheckBounds1763900300000,
  ShellCommands1763900500000,
  Auth1763910000000,
  HistorySearch1763920000000,
  HistoryBackfill1763920000001,
  RequestGroups1763930000000,
  MailBlacklist1763930000001,
  BouncingRequests1763950000000,
  CleanupType1764000000000,
  EndedRequests1765140000000,
  SeveralTokens1765150000000,
  Audit1765150000001,
  IdempotentCalls1765150000002,
  ImportItems1765260000000,
  PlacementOverride1765270000000,
  MailAllowlist1765270000001,
  Mail1765450000000,
  LiveEvents1765520000000,
  WebhookResults1765520000001,
  ReportViews1765540000000,
  WhyDeploysWait1765640000000,
  Workers1765830000000,
  AgentReach1765840000001,
  WhenWaitsBegan1765920000000,
  InactiveHostsNoted1766016000000,
  SinceWhenTasksCount1766030000000,
  ScheduleStart1766100000000,
  RemovalManner1766100000001,
  SkippedRuns1766100000002,
  RequestsByGroup1766275200000,
  DataDirOfInstances1766361600000,
  UserPreferences1766448000000,
  AuthSession1766450000000,
  AuditReads1766450000001,
  FailedRuns1766520000000,
  ConcurrencyGroups1766520000001,
  RunBackfills1766520000002,
  Flows1766534400000,
  RequestPlanning1766540000000,
  Liveness1766650000000,
  DeploysWithLiveness1766650000001,
  InstanceFailures1766650000002,
  NextRunsOfTimetables1766700000000,
  StartOrder1766760000000,
  DeployGates1766770000000,
  GivenUpTasks1766780000000,
  DeployFreezes1766790000000,
  Autoscaling1766800000000,
  TaskPrograms1766810000000,
  ExtendedResources1766815000000,
  GroupDeployWindows1766820000000,
  UnansweredLaunches1766830000000,
  LogLinkKey1766840000000,
  BytesOfRuns1766850000000,
  BytesOfRecords1766900000000,
];
