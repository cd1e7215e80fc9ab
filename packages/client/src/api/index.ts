import { contract, prefix } from 'rest-contract/client';
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

/** The whole public API of Muster, group by group as in the document that the service serves. */
export const MusterApi = contract('MusterApi', {
  /** Whether an instance lives and can serve. */
  health: prefix({}, HealthApi, { path: '', tags: ['Health'] }),
  /** Who the caller is, tokens, and what a caller may do to a request. */
  auth: prefix({}, AuthApi, { path: 'api/auth', tags: ['Auth'] }),
  /** Limits, and what holds for the placement of all requests. */
  configuration: prefix({}, ConfigurationApi, { path: 'api/configuration', tags: ['Configuration'] }),
  /** Requests that belong together. */
  groups: prefix({}, GroupsApi, { path: 'api/groups', tags: ['Request groups'] }),
  /** Requests: what is to run, and everything that can be done to it. */
  requests: prefix({}, RequestsApi, { path: 'api/requests', tags: ['Requests'] }),
  /** Deploys: new versions of requests. */
  deploys: prefix({}, DeploysApi, { path: 'api/deploys', tags: ['Deploys'] }),
  /** Disasters, and actions that are switched off. */
  disasters: prefix({}, DisastersApi, { path: 'api/disasters', tags: ['Disasters'] }),
  /** Figures of an instance and of the service. */
  metrics: prefix({}, MetricsApi, { path: '', tags: ['Metrics'] }),
  /** Who gets mail. */
  notifications: prefix({}, NotificationsApi, { path: 'api/notifications', tags: ['Notifications'] }),
  /** Freezes: tasks below a priority are not started. */
  priority: prefix({}, PriorityApi, { path: 'api/priority', tags: ['Task priorities'] }),
  /** Tasks that run or wait, their files, notes and shell commands. */
  tasks: prefix({}, TasksApi, { path: 'api/tasks', tags: ['Tasks'] }),
  /** The machines that run tasks. */
  slaves: prefix({}, SlavesApi, { path: 'api/slaves', tags: ['Slaves'] }),
  /** Racks: machines that fail together. */
  racks: prefix({}, RacksApi, { path: 'api/racks', tags: ['Racks'] }),
  /** Hosts whose machines are decommissioned as soon as they appear. */
  inactive: prefix({}, InactiveApi, { path: 'api/inactive', tags: ['Inactive machines'] }),
  /** What has been: ended tasks, deploys, changes of requests. */
  history: prefix({}, HistoryApi, { path: 'api/history', tags: ['History'] }),
  /** What happens, as it happens. */
  events: prefix({}, EventsApi, { path: 'api/events', tags: ['Events'] }),
  /** Webhooks, and what waits for them. */
  webhooks: prefix({}, WebhooksApi, { path: 'api/webhooks', tags: ['Webhooks'] }),
  /** Files of tasks. */
  sandbox: prefix({}, SandboxApi, { path: 'api/sandbox', tags: ['Sandbox'] }),
  /** Logs of ended tasks in the object store. */
  logs: prefix({}, LogsApi, { path: 'api/logs', tags: ['Object store logs'] }),
  /** The service in figures. */
  state: prefix({}, StateApi, { path: 'api/state', tags: ['State'] }),
  /** What became of a task or of a run. */
  track: prefix({}, TrackApi, { path: 'api/track', tags: ['Task tracking'] }),
  /** Requests whose tasks are not moved off overloaded slaves. */
  shuffle: prefix({}, ShuffleApi, { path: 'api/shuffle', tags: ['Shuffle'] }),
  /** What slaves and tasks use. */
  usage: prefix({}, UsageApi, { path: 'api/usage', tags: ['Resource usage'] }),
  /** What users have chosen. */
  users: prefix({}, UsersApi, { path: 'api/users', tags: ['Users'] }),
  /** What tests of the service do to it. Switched off unless it is allowed by its settings. */
  test: prefix({}, TestOperationsApi, { path: 'api/test', tags: ['Test operations'] }),
  /** The page for people. */
  pages: prefix({}, PagesApi, { path: '', tags: ['Index page'] }),
});
