/**
 * Access that each operation asks of its caller, as documented: the test's own statement, to hold the application
 * against. `open`: nothing; `caller`: to be known; a scope: to have it on the request that the call names;
 * `READ+DEPLOY`, `READ+APPROVE`: both.
 */
export type Ask =
  'open' | 'caller' | 'READ' | 'WRITE' | 'READ+DEPLOY' | 'READ+APPROVE' | 'ADMIN' | 'globalRead' | 'readAll';

const lines = (text: string): string[] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.trim());

const asked: Record<Ask, string[]> = {
  caller: lines(`
    GET /api/auth/user
    POST /api/schedules/preview
    POST /api/auth/token
    GET /api/auth/tokens
    DELETE /api/auth/tokens/:tokenId
    GET /api/auth/:requestId/auth-check
    GET /api/auth/:requestId/auth-check/:userId
    GET /api/users/settings
    POST /api/users/settings
    PUT /api/users/settings/preferences
    POST /api/users/settings/starred-requests
    DELETE /api/users/settings/starred-requests
    GET /api/deploys/failed
    GET /api/deploys/pending
    GET /api/events
    GET /api/flows/:flowId
    GET /api/history/requests/search
    GET /api/requests
    GET /api/requests/active
    GET /api/requests/paused
    GET /api/requests/cooldown
    GET /api/requests/finished
    GET /api/requests/ids
    GET /api/requests/ids/active
    GET /api/requests/batch
    GET /api/requests/queued/pending
    GET /api/requests/queued/cleanup
    GET /api/requests/lbcleanup
    GET /api/requests/crashloops
    GET /api/tasks/active
    GET /api/tasks/active/ids
    GET /api/tasks/active/states
    GET /api/tasks/active/slave/:slaveId
    GET /api/tasks/active/slave/:slaveId/ids
    GET /api/tasks/cleaning
    GET /api/tasks/lbcleanup
    GET /api/tasks/killed
    GET /api/tasks/scheduled
    GET /api/tasks/scheduled/ids
    GET /api/tasks/scheduled/reasons
    GET /api/schedules/upcoming
    GET /api/services/endpoints
    GET /api/services/endpoints/:format`),
  READ: lines(`
    GET /api/history/request/:requestId/deploy/:deployId
    GET /api/history/request/:requestId/tasks
    GET /api/history/request/:requestId/tasks/withmetadata
    GET /api/history/request/:requestId/tasks/active
    GET /api/history/request/:requestId/deploy/:deployId/tasks/active
    GET /api/history/request/:requestId/deploy/:deployId/tasks/inactive
    GET /api/history/request/:requestId/deploy/:deployId/tasks/inactive/withmetadata
    GET /api/history/task/:taskId
    GET /api/history/request/:requestId/run/:runId
    GET /api/history/request/:requestId/deploys
    GET /api/history/request/:requestId/deploys/withmetadata
    GET /api/history/request/:requestId/requests
    GET /api/history/request/:requestId/requests/withmetadata
    GET /api/history/request/:requestId/command-line-args
    GET /api/requests/request/:requestId
    GET /api/requests/request/:requestId/simple
    GET /api/requests/request/:requestId/explain
    GET /api/requests/request/:requestId/crashloops
    GET /api/requests/request/:requestId/flow
    GET /api/requests/request/:requestId/run/:runId
    GET /api/requests/request/:requestId/backfills
    GET /api/requests/request/:requestId/backfill/:backfillId
    POST /api/requests/request/:requestId/scale/plan
    POST /api/requests/request/:requestId/backfill/plan
    POST /api/deploys/plan
    GET /api/logs/task/:taskId
    GET /api/logs/request/:requestId
    GET /api/logs/request/:requestId/deploy/:deployId
    POST /api/logs/search
    GET /api/sandbox/:taskId/browse
    GET /api/sandbox/:taskId/read
    GET /api/shuffle/blacklist/:requestId
    GET /api/tasks/ids/request/:requestId
    GET /api/tasks/counts/request/:requestId
    GET /api/tasks/scheduled/request/:requestId
    GET /api/tasks/scheduled/task/:pendingTaskId
    GET /api/tasks/scheduled/task/:pendingTaskId/explain
    GET /api/tasks/task/:taskId
    GET /api/tasks/task/:taskId/cleanup
    GET /api/tasks/task/:taskId/statistics
    GET /api/tasks/task/:taskId/command
    GET /api/tasks/task/:taskId/command/:commandName/:commandTimestamp
    GET /api/tasks/download
    GET /api/tasks/open
    GET /api/track/task/:taskId
    GET /api/track/run/:requestId/:runId
    GET /api/usage/requests/request/:requestId
    GET /api/usage/tasks/:taskId/history
    GET /api/services/:requestId/endpoints`),
  WRITE: lines(`
    POST /api/requests
    POST /api/requests/apply
    DELETE /api/requests/request/:requestId
    POST /api/flows/:flowId/rerun
    POST /api/requests/request/:requestId/groups
    POST /api/requests/request/:requestId/groups/auth-check
    POST /api/requests/request/:requestId/bounce
    DELETE /api/requests/request/:requestId/bounce
    POST /api/requests/request/:requestId/pause
    DELETE /api/requests/request/:requestId/pause
    POST /api/requests/request/:requestId/unpause
    POST /api/requests/request/:requestId/exit-cooldown
    PUT /api/requests/request/:requestId/priority
    DELETE /api/requests/request/:requestId/priority
    PUT /api/requests/request/:requestId/scale
    DELETE /api/requests/request/:requestId/scale
    PUT /api/requests/request/:requestId/skip-healthchecks
    DELETE /api/requests/request/:requestId/skip-healthchecks
    PUT /api/requests/request/:requestId/skipHealthchecks
    DELETE /api/requests/request/:requestId/skipHealthchecks
    POST /api/requests/request/:requestId/run
    POST /api/requests/request/:requestId/backfill
    DELETE /api/requests/request/:requestId/backfill/:backfillId
    POST /api/groups
    POST /api/shuffle/blacklist/:requestId
    DELETE /api/shuffle/blacklist/:requestId
    DELETE /api/tasks/scheduled/task/:scheduledTaskId
    DELETE /api/tasks/task/:taskId
    POST /api/tasks/task/:taskId/metadata
    POST /api/tasks/task/:taskId/command`),
  'READ+DEPLOY': lines(`
    POST /api/deploys
    DELETE /api/deploys/deploy/:deployId/request/:requestId
    POST /api/deploys/update
    POST /api/deploys/request/:requestId/rollback`),
  'READ+APPROVE': lines(`
    POST /api/deploys/deploy/:deployId/request/:requestId/approve
    POST /api/deploys/deploy/:deployId/request/:requestId/reject`),
  ADMIN: lines(`
    GET /api/audit
    DELETE /api/auth/token/:user
    GET /api/disasters/active
    POST /api/disasters/active/:type
    DELETE /api/disasters/active/:type
    GET /api/disasters/disabled-actions
    POST /api/disasters/disabled-actions/:action
    DELETE /api/disasters/disabled-actions/:action
    POST /api/disasters/failover
    POST /api/disasters/disable
    POST /api/disasters/enable
    GET /api/disasters/stats
    POST /api/configuration/rack-sensitive/enable
    POST /api/configuration/rack-sensitive/disable
    POST /api/configuration/placement-strategy/override/set/:strategy
    POST /api/configuration/placement-strategy/override/clear
    POST /api/history/sql-backfill
    POST /api/inactive
    DELETE /api/inactive
    DELETE /api/inactive/all
    POST /api/notifications/subscribe
    POST /api/notifications/unsubscribe
    GET /api/priority/freeze
    POST /api/priority/freeze
    DELETE /api/priority/freeze
    DELETE /api/racks/rack/:rackId
    POST /api/racks/rack/:rackId/activate
    POST /api/racks/rack/:rackId/decommission
    POST /api/racks/rack/:rackId/decommission/plan
    POST /api/racks/rack/:rackId/freeze
    DELETE /api/racks/rack/:rackId/expiring
    DELETE /api/groups/group/:requestGroupId
    DELETE /api/slaves/slave/:slaveId
    POST /api/slaves/slave/:slaveId/activate
    POST /api/slaves/slave/:slaveId/decommission
    POST /api/slaves/slave/:slaveId/decommission/plan
    POST /api/slaves/slave/:slaveId/decommission/update
    POST /api/slaves/slave/:slaveId/freeze
    DELETE /api/slaves/slave/:slaveId/expiring
    DELETE /api/slaves/dead
    GET /api/tasks/commands/queued
    POST /api/tasks/reconcile/:taskId
    GET /api/usage/slaves
    GET /api/webhooks
    POST /api/webhooks
    DELETE /api/webhooks
    DELETE /api/webhooks/:webhookId
    GET /api/webhooks/summary
    GET /api/webhooks/dead-letters
    POST /api/webhooks/dead-letters/resend
    POST /api/webhooks/test
    GET /api/webhooks/deploy
    GET /api/webhooks/request
    GET /api/webhooks/task
    GET /api/webhooks/elevated-access
    GET /api/webhooks/deploy/:webhookId
    GET /api/webhooks/request/:webhookId
    GET /api/webhooks/task/:webhookId`),
  globalRead: lines(`
    GET /api/inactive
    GET /api/metrics
    GET /api/metrics/zk-bytes
    GET /metrics
    GET /api/configuration/singularity-limits
    GET /api/configuration/placement
    GET /api/notifications/allowlist
    GET /api/notifications/blacklist
    GET /api/notifications/blocklist
    GET /api/racks
    GET /api/racks/expiring
    GET /api/racks/rack/:rackId
    GET /api/groups
    GET /api/groups/group/:requestGroupId
    GET /api/shuffle/blacklist
    GET /api/slaves
    GET /api/slaves/expiring
    GET /api/slaves/slave/:slaveId
    GET /api/slaves/slave/:slaveId/details
    GET /api/state
    GET /api/state/scheduled-tasks-info
    GET /api/state/task-reconciliation
    GET /api/state/requests/under-provisioned
    GET /api/state/requests/over-provisioned
    GET /api/usage/cluster/utilization
    GET /api/usage/requests`),
  readAll: lines(`
    GET /api/history/tasks
    GET /api/history/tasks/withmetadata`),
  open: lines(`
    GET /api/auth/oidc/sign-in
    GET /api/auth/oidc/callback
    POST /api/auth/session
    DELETE /api/auth/session
    GET /api/logs/object
    POST /api/test/abort
    POST /api/test/reconnect-cluster
    POST /api/test/scheduler/statusUpdate/:taskId/:taskState
    POST /api/test/notleader
    POST /api/test/leader
    POST /api/test/reconcile
    POST /api/test/purge-history
    POST /api/test/purge-history/request
    POST /api/test/purge-history/deploy
    POST /api/test/persist-task-history
    POST /api/test/exception
    POST /api/test/start
    POST /api/test/stop`),
};

export const expectedAccess: ReadonlyMap<string, Ask> = new Map(
  (Object.keys(asked) as Ask[]).flatMap((ask) => asked[ask].map((operation): [string, Ask] => [operation, ask])),
);

/** Callers of the matrix, by the one group they are in. */
export const roles = ['none', 'reader', 'writer', 'jita', 'globalReader', 'globalWriter', 'admin'] as const;
export type Role = (typeof roles)[number];

/** Mode GROUPS: the roles that may, whatever their scopes. */
export const allowedByGroups: Record<Ask, readonly Role[]> = {
  open: roles,
  caller: roles,
  READ: ['reader', 'writer', 'jita', 'globalReader', 'admin'],
  WRITE: ['writer', 'jita', 'admin'],
  'READ+DEPLOY': ['writer', 'jita', 'admin'],
  'READ+APPROVE': ['writer', 'jita', 'admin'],
  ADMIN: ['admin'],
  globalRead: ['jita', 'globalReader', 'admin'],
  readAll: ['admin'],
};

/** Scopes that a caller comes with. */
export const scopeSets = ['none', 'READ', 'WRITE', 'DEPLOY', 'READ+DEPLOY', 'ADMIN'] as const;
export type ScopeSet = (typeof scopeSets)[number];

/** Mode GROUPS_SCOPES, for all but the scope ADMIN, which may everything: these roles with one of these sets of scopes. */
export const allowedByScopes: Record<Ask, { roles: readonly Role[]; scopes: readonly ScopeSet[] }> = {
  open: { roles, scopes: scopeSets },
  caller: { roles, scopes: scopeSets },
  READ: {
    roles: ['reader', 'writer', 'jita', 'globalReader', 'globalWriter'],
    scopes: ['READ', 'WRITE', 'READ+DEPLOY'],
  },
  WRITE: { roles: ['writer', 'jita', 'globalWriter'], scopes: ['WRITE'] },
  'READ+DEPLOY': { roles: ['writer', 'jita', 'globalWriter'], scopes: ['READ+DEPLOY'] },
  // As no scopes of its own are set.
  'READ+APPROVE': { roles: ['writer', 'jita', 'globalWriter'], scopes: ['READ+DEPLOY'] },
  ADMIN: { roles: [], scopes: [] },
  globalRead: { roles, scopes: ['READ', 'WRITE', 'READ+DEPLOY'] },
  readAll: { roles: ['globalReader', 'globalWriter', 'jita'], scopes: ['READ', 'WRITE', 'READ+DEPLOY'] },
};
