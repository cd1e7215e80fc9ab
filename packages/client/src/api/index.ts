import { type AnyContract, type Contract, contract, type Prefix, prefix } from 'rest-contract/client';
import { AuthApi } from './auth.js';
import { ConfigurationApi } from './configuration.js';
import { DeploysApi } from './deploys.js';
import { DisastersApi } from './disasters.js';
import { EventsApi } from './events.js';
import { GroupsApi } from './groups.js';
import { HealthApi } from './health.js';
import { HistoryApi } from './history.js';
import { InactiveApi } from './inactive.js';
import { LogsApi } from './logs.js';
import { MetricsApi } from './metrics.js';
import { NotificationsApi } from './notifications.js';
import { PagesApi } from './pages.js';
import { PriorityApi } from './priority.js';
import { RacksApi } from './racks.js';
import { RequestsApi } from './requests.js';
import { SandboxApi } from './sandbox.js';
import { ShuffleApi } from './shuffle.js';
import { SlavesApi } from './slaves.js';
import { StateApi } from './state.js';
import { TasksApi } from './tasks.js';
import { TestOperationsApi } from './test-operations.js';
import { TrackApi } from './track.js';
import { UsageApi } from './usage.js';
import { UsersApi } from './users.js';
import { WebhooksApi } from './webhooks.js';

type Group<C extends AnyContract> = Prefix<Record<never, never>, C>;

/** By the names of their contracts: written out in declarations, operations would lose what is said about them. */
interface Groups {
  /** Whether an instance lives and can serve. */
  readonly health: Group<typeof HealthApi>;
  /** Who the caller is, tokens, and what a caller may do to a request. */
  readonly auth: Group<typeof AuthApi>;
  /** Limits, and what holds for the placement of all requests. */
  readonly configuration: Group<typeof ConfigurationApi>;
  /** Requests that belong together. */
  readonly groups: Group<typeof GroupsApi>;
  /** Requests: what is to run, and everything that can be done to it. */
  readonly requests: Group<typeof RequestsApi>;
  /** Deploys: new versions of requests. */
  readonly deploys: Group<typeof DeploysApi>;
  /** Disasters, and actions that are switched off. */
  readonly disasters: Group<typeof DisastersApi>;
  /** Figures of an instance and of the service. */
  readonly metrics: Group<typeof MetricsApi>;
  /** Who gets mail. */
  readonly notifications: Group<typeof NotificationsApi>;
  /** Freezes: tasks below a priority are not started. */
  readonly priority: Group<typeof PriorityApi>;
  /** Tasks that run or wait, their files, notes and shell commands. */
  readonly tasks: Group<typeof TasksApi>;
  /** The machines that run tasks. */
  readonly slaves: Group<typeof SlavesApi>;
  /** Racks: machines that fail together. */
  readonly racks: Group<typeof RacksApi>;
  /** Hosts whose machines are decommissioned as soon as they appear. */
  readonly inactive: Group<typeof InactiveApi>;
  /** What has been: ended tasks, deploys, changes of requests. */
  readonly history: Group<typeof HistoryApi>;
  /** What happens, as it happens. */
  readonly events: Group<typeof EventsApi>;
  /** Webhooks, and what waits for them. */
  readonly webhooks: Group<typeof WebhooksApi>;
  /** Files of tasks. */
  readonly sandbox: Group<typeof SandboxApi>;
  /** Logs of ended tasks in the object store. */
  readonly logs: Group<typeof LogsApi>;
  /** The service in figures. */
  readonly state: Group<typeof StateApi>;
  /** What became of a task or of a run. */
  readonly track: Group<typeof TrackApi>;
  /** Requests whose tasks are not moved off overloaded slaves. */
  readonly shuffle: Group<typeof ShuffleApi>;
  /** What slaves and tasks use. */
  readonly usage: Group<typeof UsageApi>;
  /** What users have chosen. */
  readonly users: Group<typeof UsersApi>;
  /** What tests of the service do to it. Switched off unless it is allowed by its settings. */
  readonly test: Group<typeof TestOperationsApi>;
  /** The page for people. */
  readonly pages: Group<typeof PagesApi>;
}

/** The whole public API of Muster, group by group as in the document that the service serves. */
export const MusterApi: Contract<Groups, never> = contract('MusterApi', {
  health: prefix({}, HealthApi, { path: '', tags: ['Health'] }),
  auth: prefix({}, AuthApi, { path: 'api/auth', tags: ['Auth'] }),
  configuration: prefix({}, ConfigurationApi, { path: 'api/configuration', tags: ['Configuration'] }),
  groups: prefix({}, GroupsApi, { path: 'api/groups', tags: ['Request groups'] }),
  requests: prefix({}, RequestsApi, { path: 'api/requests', tags: ['Requests'] }),
  deploys: prefix({}, DeploysApi, { path: 'api/deploys', tags: ['Deploys'] }),
  disasters: prefix({}, DisastersApi, { path: 'api/disasters', tags: ['Disasters'] }),
  metrics: prefix({}, MetricsApi, { path: '', tags: ['Metrics'] }),
  notifications: prefix({}, NotificationsApi, { path: 'api/notifications', tags: ['Notifications'] }),
  priority: prefix({}, PriorityApi, { path: 'api/priority', tags: ['Task priorities'] }),
  tasks: prefix({}, TasksApi, { path: 'api/tasks', tags: ['Tasks'] }),
  slaves: prefix({}, SlavesApi, { path: 'api/slaves', tags: ['Slaves'] }),
  racks: prefix({}, RacksApi, { path: 'api/racks', tags: ['Racks'] }),
  inactive: prefix({}, InactiveApi, { path: 'api/inactive', tags: ['Inactive machines'] }),
  history: prefix({}, HistoryApi, { path: 'api/history', tags: ['History'] }),
  events: prefix({}, EventsApi, { path: 'api/events', tags: ['Events'] }),
  webhooks: prefix({}, WebhooksApi, { path: 'api/webhooks', tags: ['Webhooks'] }),
  sandbox: prefix({}, SandboxApi, { path: 'api/sandbox', tags: ['Sandbox'] }),
  logs: prefix({}, LogsApi, { path: 'api/logs', tags: ['Object store logs'] }),
  state: prefix({}, StateApi, { path: 'api/state', tags: ['State'] }),
  track: prefix({}, TrackApi, { path: 'api/track', tags: ['Task tracking'] }),
  shuffle: prefix({}, ShuffleApi, { path: 'api/shuffle', tags: ['Shuffle'] }),
  usage: prefix({}, UsageApi, { path: 'api/usage', tags: ['Resource usage'] }),
  users: prefix({}, UsersApi, { path: 'api/users', tags: ['Users'] }),
  test: prefix({}, TestOperationsApi, { path: 'api/test', tags: ['Test operations'] }),
  pages: prefix({}, PagesApi, { path: '', tags: ['Index page'] }),
});
