import type { UserAction } from '../../../core/model/enums.js';
import { apply } from './apply-need.js';
import {
  groupInBody,
  groupsOfUpdatedRequest,
  inBody,
  inPath,
  inQuery,
  ofFile,
  ofLogSearch,
  ofPendingTask,
  ofSentDeploy,
  ofTask,
  sentGroups,
  sentParents,
} from './call.js';
import {
  batch,
  byRequestId,
  byTaskId,
  deployRows,
  ids,
  ownedRows,
  parentRows,
  taskRows,
  waitingRows,
} from './list-shapes.js';
import {
  admin,
  askedByService,
  caller,
  depends,
  expensiveList,
  globalRead,
  list,
  nothing,
  on,
  openable,
  readAll,
  type Need,
} from './needs.js';

const creates = { creates: true } as const;
const read = on(inPath, 'READ');
const readPast = on(inPath, 'READ', { past: 'some' });
const readAllPast = on(inPath, 'READ', { past: 'all' });
const readTask = on(ofTask, 'READ');
const writeTask = on(ofTask, 'WRITE');
const act = on(inPath, ['READ', 'WRITE']);
const take = (action: UserAction) => on(inPath, ['READ', 'WRITE'], { action });
const answerGate = on(inPath, ['READ', 'APPROVE'], { action: 'APPROVE' });
const undoAction = on(inPath, 'WRITE');
const regroup = { newGroups: sentGroups, writesNew: true, refusal: 'GROUPS_NOT_PERMITTED' } as const;
const searchTasks = depends((call) => (inQuery(call).length > 0 ? on(inQuery, 'READ', { past: 'some' }) : readAll));
const upcomingRuns = depends((call) =>
  inQuery(call).length > 0
    ? on(inQuery, 'READ')
    : askedByService('a list is cut to its limit after what may not be read is gone'),
);
const services = depends((call) =>
  inQuery(call).length > 0 ? on(inQuery, 'READ') : askedByService('only services that the caller may read are read'),
);
const requestList = askedByService('a list is cut to its limit after what may not be read is gone');
const files = openable('FILES', on(ofFile, 'READ', { unnamed: 'forbidden' }));

/**
 * The need of every operation below /api. This is the one place that says so: an operation that is missing here is for
 * administrators only, and a test names it.
 */
export const endpointNeeds: Readonly<Record<string, Need>> = {
  'GET /api/audit': admin,

  'GET /api/auth/user': caller,
  'GET /api/auth/oidc/sign-in': nothing,
  'GET /api/auth/oidc/callback': nothing,
  'POST /api/auth/session': nothing,
  'DELETE /api/auth/session': nothing,
  'POST /api/auth/token': askedByService('a token for another user is the work of administrators'),
  'DELETE /api/auth/token/:user': admin,
  'GET /api/auth/tokens': askedByService('those of others are the business of administrators'),
  'DELETE /api/auth/tokens/:tokenId': askedByService('those of others are the business of administrators'),
  'GET /api/auth/:requestId/auth-check': askedByService('the scope is a parameter'),
  'GET /api/auth/:requestId/auth-check/:userId': openable('AUTH_CHECK', caller),

  'POST /api/deploys': on(ofSentDeploy, ['READ', 'DEPLOY'], { newGroups: groupsOfUpdatedRequest }),
  'DELETE /api/deploys/deploy/:deployId/request/:requestId': on(inPath, ['READ', 'DEPLOY']),
  'POST /api/deploys/deploy/:deployId/request/:requestId/approve': answerGate,
  'POST /api/deploys/deploy/:deployId/request/:requestId/reject': answerGate,
  'POST /api/deploys/update': on(inBody('requestId'), ['READ', 'DEPLOY']),
  'GET /api/deploys/failed': list(deployRows),
  'GET /api/deploys/pending': list(deployRows),
  'POST /api/deploys/plan': on(ofSentDeploy, 'READ'),
  'POST /api/deploys/request/:requestId/rollback': on(inPath, ['READ', 'DEPLOY']),

  'GET /api/disasters/active': admin,
  'POST /api/disasters/active/:type': admin,
  'DELETE /api/disasters/active/:type': admin,
  'GET /api/disasters/disabled-actions': admin,
  'POST /api/disasters/disabled-actions/:action': admin,
  'DELETE /api/disasters/disabled-actions/:action': admin,
  'POST /api/disasters/failover': admin,
  'POST /api/disasters/disable': admin,
  'POST /api/disasters/enable': admin,
  'GET /api/disasters/stats': admin,

  'GET /api/events': askedByService('each event is shown to those who may read what it is about'),

  'GET /api/flows/:flowId': askedByService('runs of requests that may not be read are left out'),
  'POST /api/flows/:flowId/rerun': on(inBody('from'), ['READ', 'WRITE'], { action: 'EXEC' }),

  'GET /api/history/request/:requestId/deploy/:deployId': readPast,
  'GET /api/history/tasks': searchTasks,
  'GET /api/history/tasks/withmetadata': searchTasks,
  'GET /api/history/request/:requestId/tasks': readPast,
  'GET /api/history/request/:requestId/tasks/withmetadata': readPast,
  'GET /api/history/request/:requestId/tasks/active': read,
  'GET /api/history/request/:requestId/deploy/:deployId/tasks/active': read,
  'GET /api/history/request/:requestId/deploy/:deployId/tasks/inactive': readPast,
  'GET /api/history/request/:requestId/deploy/:deployId/tasks/inactive/withmetadata': readPast,
  'GET /api/history/task/:taskId': readTask,
  'GET /api/history/request/:requestId/run/:runId': readPast,
  'GET /api/history/request/:requestId/deploys': readPast,
  'GET /api/history/request/:requestId/deploys/withmetadata': readPast,
  'GET /api/history/request/:requestId/requests': readPast,
  'GET /api/history/request/:requestId/requests/withmetadata': readPast,
  'GET /api/history/requests/search': list(ids),
  'GET /api/history/request/:requestId/command-line-args': readPast,
  'POST /api/history/sql-backfill': admin,

  'GET /api/inactive': openable('INACTIVE_HOSTS', globalRead),
  'POST /api/inactive': admin,
  'DELETE /api/inactive': admin,
  'DELETE /api/inactive/all': admin,

  'GET /api/metrics': openable('METRICS', globalRead),
  'GET /api/metrics/zk-bytes': openable('METRICS', globalRead),
  'GET /metrics': openable('METRICS', globalRead),

  'GET /api/notifications/allowlist': openable('NOTIFICATIONS', globalRead),
  'GET /api/notifications/blocklist': openable('NOTIFICATIONS', globalRead),
  'GET /api/notifications/blacklist': openable('NOTIFICATIONS', globalRead),
  'POST /api/notifications/subscribe': openable('NOTIFICATIONS', admin),
  'POST /api/notifications/unsubscribe': openable('NOTIFICATIONS', admin),

  'GET /api/configuration/singularity-limits': globalRead,
  'GET /api/configuration/placement': globalRead,
  'POST /api/configuration/rack-sensitive/enable': admin,
  'POST /api/configuration/rack-sensitive/disable': admin,
  'POST /api/configuration/placement-strategy/override/set/:strategy': admin,
  'POST /api/configuration/placement-strategy/override/clear': admin,

  'GET /api/priority/freeze': admin,
  'POST /api/priority/freeze': admin,
  'DELETE /api/priority/freeze': admin,

  'GET /api/racks': globalRead,
  'GET /api/racks/expiring': globalRead,
  'GET /api/racks/rack/:rackId': globalRead,
  'DELETE /api/racks/rack/:rackId': admin,
  'POST /api/racks/rack/:rackId/activate': admin,
  'POST /api/racks/rack/:rackId/decommission': admin,
  'POST /api/racks/rack/:rackId/decommission/plan': admin,
  'POST /api/racks/rack/:rackId/freeze': admin,
  'DELETE /api/racks/rack/:rackId/expiring': admin,

  'GET /api/groups': openable('REQUEST_GROUPS', globalRead),
  'GET /api/groups/group/:requestGroupId': openable('REQUEST_GROUPS', globalRead),
  'POST /api/groups': openable(
    'REQUEST_GROUPS',
    on(inBody('requestIds'), 'WRITE', { unnamed: 'admin', replacesGroup: groupInBody }),
  ),
  'DELETE /api/groups/group/:requestGroupId': openable('REQUEST_GROUPS', admin),

  'GET /api/requests': requestList,
  'GET /api/requests/active': requestList,
  'GET /api/requests/paused': requestList,
  'GET /api/requests/cooldown': requestList,
  'GET /api/requests/finished': requestList,
  'GET /api/requests/ids': list(ids),
  'GET /api/requests/ids/active': list(ids),
  'GET /api/requests/batch': list(batch),
  'GET /api/requests/queued/pending': list(ownedRows),
  'GET /api/requests/queued/cleanup': list(ownedRows),
  'GET /api/requests/lbcleanup': list(ids),
  'GET /api/requests/crashloops': list(byRequestId),
  'POST /api/requests': on(inBody('id'), 'WRITE', {
    ...creates,
    newGroups: sentGroups,
    writesNew: true,
    newParents: sentParents,
  }),
  'POST /api/requests/apply': apply,
  'GET /api/requests/request/:requestId': on(inPath, 'READ'),
  'GET /api/requests/request/:requestId/simple': on(inPath, 'READ'),
  'GET /api/requests/request/:requestId/explain': on(inPath, 'READ'),
  'GET /api/requests/request/:requestId/crashloops': read,
  'GET /api/requests/request/:requestId/flow': read,
  'DELETE /api/requests/request/:requestId': act,
  'POST /api/requests/request/:requestId/groups': on(inPath, ['READ', 'WRITE'], regroup),
  'POST /api/requests/request/:requestId/groups/auth-check': on(inPath, 'WRITE', { ...creates, ...regroup }),
  'POST /api/requests/request/:requestId/bounce': take('BOUNCE'),
  'DELETE /api/requests/request/:requestId/bounce': undoAction,
  'POST /api/requests/request/:requestId/pause': take('PAUSE'),
  'DELETE /api/requests/request/:requestId/pause': undoAction,
  'POST /api/requests/request/:requestId/unpause': take('PAUSE'),
  'POST /api/requests/request/:requestId/exit-cooldown': act,
  'PUT /api/requests/request/:requestId/scale': take('SCALE'),
  'DELETE /api/requests/request/:requestId/scale': undoAction,
  'PUT /api/requests/request/:requestId/priority': take('PRIORITIZE'),
  'DELETE /api/requests/request/:requestId/priority': undoAction,
  'POST /api/requests/request/:requestId/scale/plan': on(inPath, 'READ'),
  'PUT /api/requests/request/:requestId/skip-healthchecks': act,
  'DELETE /api/requests/request/:requestId/skip-healthchecks': undoAction,
  'PUT /api/requests/request/:requestId/skipHealthchecks': act,
  'DELETE /api/requests/request/:requestId/skipHealthchecks': undoAction,
  'POST /api/requests/request/:requestId/run': take('EXEC'),
  'GET /api/requests/request/:requestId/run/:runId': readPast,
  'POST /api/requests/request/:requestId/backfill': take('EXEC'),
  'POST /api/requests/request/:requestId/backfill/plan': on(inPath, 'READ'),
  'GET /api/requests/request/:requestId/backfills': on(inPath, 'READ'),
  'GET /api/requests/request/:requestId/backfill/:backfillId': on(inPath, 'READ'),
  'DELETE /api/requests/request/:requestId/backfill/:backfillId': take('EXEC'),

  'GET /api/schedules/upcoming': upcomingRuns,
  'POST /api/schedules/preview': caller,

  'GET /api/logs/task/:taskId': readTask,
  'GET /api/logs/request/:requestId': readAllPast,
  'GET /api/logs/request/:requestId/deploy/:deployId': readAllPast,
  // The link is signed, for a caller who might read the object.
  'GET /api/logs/object': nothing,
  'POST /api/logs/search': on(ofLogSearch, 'READ', { past: 'all' }),

  'GET /api/sandbox/:taskId/browse': readTask,
  'GET /api/sandbox/:taskId/read': readTask,

  'GET /api/shuffle/blacklist': globalRead,
  'GET /api/shuffle/blacklist/:requestId': read,
  'POST /api/shuffle/blacklist/:requestId': on(inPath, 'WRITE'),
  'DELETE /api/shuffle/blacklist/:requestId': on(inPath, 'WRITE'),

  'GET /api/slaves': globalRead,
  'GET /api/slaves/expiring': globalRead,
  'GET /api/slaves/slave/:slaveId': globalRead,
  'GET /api/slaves/slave/:slaveId/details': globalRead,
  'DELETE /api/slaves/slave/:slaveId': admin,
  'POST /api/slaves/slave/:slaveId/activate': admin,
  'POST /api/slaves/slave/:slaveId/decommission': admin,
  'POST /api/slaves/slave/:slaveId/decommission/plan': admin,
  'POST /api/slaves/slave/:slaveId/decommission/update': admin,
  'POST /api/slaves/slave/:slaveId/freeze': admin,
  'DELETE /api/slaves/slave/:slaveId/expiring': admin,
  'DELETE /api/slaves/dead': admin,

  'GET /api/services/:requestId/endpoints': read,
  'GET /api/services/endpoints': services,
  'GET /api/services/endpoints/:format': services,

  'GET /api/state': openable('STATE', globalRead),
  'GET /api/state/task-reconciliation': openable('STATE', globalRead),
  'GET /api/state/scheduled-tasks-info': openable('STATE', globalRead),
  'GET /api/state/requests/under-provisioned': openable('STATE', globalRead),
  'GET /api/state/requests/over-provisioned': openable('STATE', globalRead),

  'GET /api/tasks/active': list(taskRows),
  'GET /api/tasks/active/ids': list(ownedRows),
  'GET /api/tasks/active/states': list(byTaskId),
  'GET /api/tasks/active/slave/:slaveId': list(taskRows),
  'GET /api/tasks/active/slave/:slaveId/ids': list(ownedRows),
  'GET /api/tasks/cleaning': expensiveList(taskRows),
  'GET /api/tasks/lbcleanup': list(ownedRows),
  'GET /api/tasks/killed': list(taskRows),
  'GET /api/tasks/ids/request/:requestId': read,
  'GET /api/tasks/counts/request/:requestId': read,
  'GET /api/tasks/scheduled': expensiveList(parentRows),
  'GET /api/tasks/scheduled/ids': list(ownedRows),
  'GET /api/tasks/scheduled/reasons': list(waitingRows),
  'GET /api/tasks/scheduled/request/:requestId': read,
  'GET /api/tasks/scheduled/task/:pendingTaskId': on(ofPendingTask, 'READ'),
  'GET /api/tasks/scheduled/task/:pendingTaskId/explain': on(ofPendingTask, 'READ'),
  'DELETE /api/tasks/scheduled/task/:scheduledTaskId': on(ofPendingTask, 'WRITE', { action: 'DELETE_SCHEDULED_TASK' }),
  'GET /api/tasks/task/:taskId': readTask,
  'DELETE /api/tasks/task/:taskId': on(ofTask, 'WRITE', { action: 'KILL_TASK' }),
  'GET /api/tasks/task/:taskId/cleanup': readTask,
  'GET /api/tasks/task/:taskId/statistics': readTask,
  'POST /api/tasks/task/:taskId/metadata': writeTask,
  'GET /api/tasks/task/:taskId/command': readTask,
  'POST /api/tasks/task/:taskId/command': on(ofTask, 'WRITE', { action: 'RUN_SHELL_COMMAND' }),
  'GET /api/tasks/task/:taskId/command/:commandName/:commandTimestamp': readTask,
  'GET /api/tasks/commands/queued': admin,
  'GET /api/tasks/download': files,
  'GET /api/tasks/open': files,
  'POST /api/tasks/reconcile/:taskId': admin,

  'GET /api/track/task/:taskId': readTask,
  'GET /api/track/run/:requestId/:runId': readPast,

  // Switched on by a setting for development only; no installation with other users sets it.
  'POST /api/test/abort': nothing,
  'POST /api/test/reconnect-cluster': nothing,
  'POST /api/test/scheduler/statusUpdate/:taskId/:taskState': nothing,
  'POST /api/test/notleader': nothing,
  'POST /api/test/leader': nothing,
  'POST /api/test/reconcile': nothing,
  'POST /api/test/purge-history': nothing,
  'POST /api/test/purge-history/request': nothing,
  'POST /api/test/purge-history/deploy': nothing,
  'POST /api/test/persist-task-history': nothing,
  'POST /api/test/exception': nothing,
  'POST /api/test/start': nothing,
  'POST /api/test/stop': nothing,

  'GET /api/usage/cluster/utilization': openable('UTILIZATION', globalRead),
  'GET /api/usage/requests': openable('UTILIZATION', globalRead),
  'GET /api/usage/requests/request/:requestId': openable('UTILIZATION', read),
  'GET /api/usage/slaves': admin,
  'GET /api/usage/tasks/:taskId/history': readTask,

  'GET /api/users/settings': caller,
  'PUT /api/users/settings/preferences': caller,
  'POST /api/users/settings': caller,
  'POST /api/users/settings/starred-requests': caller,
  'DELETE /api/users/settings/starred-requests': caller,

  'GET /api/webhooks': admin,
  'POST /api/webhooks': admin,
  'DELETE /api/webhooks': admin,
  'DELETE /api/webhooks/:webhookId': admin,
  'GET /api/webhooks/summary': admin,
  'GET /api/webhooks/dead-letters': admin,
  'POST /api/webhooks/dead-letters/resend': admin,
  'POST /api/webhooks/test': admin,
  'GET /api/webhooks/deploy': admin,
  'GET /api/webhooks/request': admin,
  'GET /api/webhooks/task': admin,
  'GET /api/webhooks/elevated-access': admin,
  'GET /api/webhooks/deploy/:webhookId': admin,
  'GET /api/webhooks/request/:webhookId': admin,
  'GET /api/webhooks/task/:webhookId': admin,
};

/** Methods, each with its paths: to join both for each call would cost more than all else that is looked up. */
const needsByMethod = new Map<string, Map<string, Need>>();
for (const [endpoint, need] of Object.entries(endpointNeeds)) {
  const [method = '', route = ''] = endpoint.split(' ');
  const needs = needsByMethod.get(method) ?? new Map<string, Need>();
  needsByMethod.set(method, needs.set(route, need));
}

/** By method and by the path of the route, as its controller writes it. */
export const needOf = (method: string, route: string): Need =>
  needsByMethod.get(method === 'HEAD' ? 'GET' : method)?.get(route) ?? admin;
