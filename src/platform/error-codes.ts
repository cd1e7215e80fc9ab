/** An answer's code: its HTTP status, the usual cause, and the next step of a caller. `docs/errors.md` is made of them. */
export interface ErrorInfo {
  status: number;
  cause: string;
  next: string;
}

const info = <S extends number>(status: S, cause: string, next: string) => ({ status, cause, next });

export const errorCodes = {
  INVALID_REQUEST: info(
    400,
    'A request, or an operation on it, breaks rules; `errors` names each field and rule.',
    'Correct the named fields (docs/validation.md); the same call is refused again.',
  ),
  INVALID_DEPLOY: info(
    400,
    'A deploy, or the request in its body, breaks rules; `errors` names each field and rule.',
    'Correct the named fields (docs/job-specification.md); the same call is refused again.',
  ),
  INVALID_PARAMETER: info(
    400,
    'A part of the path or query, or a member of another body, breaks a rule.',
    'Correct the named parameter; the API document has its type and limits.',
  ),
  INVALID_JSON: info(
    400,
    'The body is not JSON, not UTF-8, or exceeds the limits of depth or size.',
    'Send the output of a JSON library; the message contains the place of the first error.',
  ),
  MALFORMED_CALL: info(
    400,
    'The call is not valid HTTP/1.1, for example without `Host`.',
    'Check proxies, and calls that are written by hand.',
  ),
  NOT_PENDING: info(
    400,
    'A deploy to cancel or to advance is not in progress.',
    'Read the result of the deploy, which has ended already.',
  ),
  NOT_SUPPORTED: info(
    400,
    'The deploy needs a feature that this cluster does not have, such as containers without an engine.',
    'Remove the feature, or ask the operator to enable it; the message names both.',
  ),
  SANDBOX_NOT_READY: info(400, 'The task has no directory yet.', 'Repeat the call after a moment.'),
  TASK_NOT_ACTIVE: info(400, 'The task of a shell command is not active.', 'Choose an active task.'),
  UNAUTHENTICATED: info(
    401,
    'The call has no valid token.',
    'Send `Authorization: Token <token>`; create a new token if it was revoked or has expired.',
  ),
  GROUPS_NOT_PERMITTED: info(
    401,
    'The caller is not in the new groups of the request.',
    'Name groups of your own, or ask a user of both groups.',
  ),
  FORBIDDEN: info(
    403,
    'The caller lacks a permission, which the message names.',
    'Ask for the permission, or use another token.',
  ),
  FOREIGN_ORIGIN: info(
    403,
    'A browser made a change on behalf of a page of another origin.',
    'Serve the page from the same origin, or ask the operator to allow its origin (`cors.allowedOrigins`).',
  ),
  LINK_NOT_VALID: info(403, 'A link to a log has expired, or was changed.', 'List the logs again for a fresh link.'),
  TEST_CALLS_DISABLED: info(
    403,
    'Test operations are off, as they should be in production.',
    'Set `allowTestResourceCalls` on an installation for tests.',
  ),
  OWN_DEPLOY: info(
    403,
    'The gate of a deploy has `requireOtherApprover`, and the caller started the deploy.',
    'Ask another user to approve it.',
  ),
  UNKNOWN_SHELL_COMMAND: info(
    403,
    'The settings have no shell command of this name.',
    'Use one of `ui.shellCommands`.',
  ),
  REQUEST_NOT_FOUND: info(
    404,
    'The request does not exist: it was never created, was removed, or is hidden from the caller.',
    'See `GET /api/requests/ids`; removed requests are in the history.',
  ),
  DEPLOY_NOT_FOUND: info(404, 'The request has no such deploy.', 'See `GET /api/history/request/{requestId}/deploys`.'),
  TASK_NOT_FOUND: info(
    404,
    'The task does not exist, or its record was deleted.',
    'See the active tasks of its request, and its history.',
  ),
  PENDING_TASK_NOT_FOUND: info(
    404,
    'The pending task does not exist: it was launched or removed meanwhile.',
    'See the active tasks of its request.',
  ),
  RUN_NOT_FOUND: info(
    404,
    'No task has this run id.',
    'Repeat the call if the run was just accepted; else check the id.',
  ),
  FLOW_NOT_FOUND: info(
    404,
    'The flow does not exist: none of its runs has ended yet, it was deleted, or the caller may read none of its requests.',
    'See `GET /api/requests/request/{requestId}/flow`; a flow is kept for `flowRetentionDays`.',
  ),
  MACHINE_NOT_FOUND: info(404, 'The slave or rack does not exist.', 'See `GET /api/slaves` or `GET /api/racks`.'),
  FILE_NOT_FOUND: info(
    404,
    'The sandbox has no such file, or the task had no sandbox.',
    'List its directory; rotated logs have other names.',
  ),
  TOKEN_NOT_FOUND: info(404, 'The token does not exist, or belongs to another user.', 'See the list of tokens.'),
  WEBHOOK_NOT_FOUND: info(
    404,
    'The webhook does not exist.',
    'See `GET /api/webhooks`; an id in a path is percent-encoded.',
  ),
  EXPIRING_ACTION_NOT_FOUND: info(
    404,
    'The request has no expiring action of this kind.',
    'Read the request: the action has expired already, or never existed.',
  ),
  OBJSTORE_NOT_CONFIGURED: info(
    404,
    'The call needs logs of ended tasks, and no object store is configured.',
    'Ask the operator to configure `objstore`, or read the sandbox.',
  ),
  NOT_FOUND: info(
    404,
    'The path, or a record without a code of its own, does not exist.',
    'Compare the path with the API document.',
  ),
  ACTION_DISABLED: info(
    409,
    'An operator has disabled this action.',
    'Wait until it is enabled again (`GET /api/disasters/disabled-actions` shows the reason).',
  ),
  DEPLOY_WINDOW_CLOSED: info(
    409,
    'The request, or a group with it, takes deploys within its `deployWindows` only.',
    'Deploy again when the next window opens, which the message names. A rollback starts at any time.',
  ),
  CHANGED_MEANWHILE: info(
    409,
    'Another call changed the record between being read and being written.',
    'Read it again, and decide again.',
  ),
  REQUEST_BEING_CLEANED: info(
    409,
    'The request is being removed: its tasks are ending.',
    'Wait until it is gone, then create it again.',
  ),
  REQUEST_PAUSED: info(409, 'The request is paused.', 'Unpause it first.'),
  REQUEST_NOT_PAUSED: info(409, 'The request to unpause is not paused.', 'Nothing needs to be done.'),
  REQUEST_NOT_IN_COOLDOWN: info(409, 'The request is not in cooldown.', 'Nothing needs to be done.'),
  REQUEST_BOUNCING: info(409, 'A bounce is in progress.', 'Wait for its end, or cancel it.'),
  REQUEST_FINISHED: info(409, 'The request has run for the last time.', 'Change its schedule, or deploy it again.'),
  DEPLOY_IN_PROGRESS: info(409, 'Another deploy of the request has not ended.', 'Wait for its end, or cancel it.'),
  GATE_NOT_WAITING: info(
    409,
    'No gate of the deploy waits for an answer of a user, or the named one does not.',
    'Read `gates` in the history of the deploy.',
  ),
  NO_DEPLOY: info(409, 'The request has no deploy to run or to return to.', 'Deploy it first.'),
  TASK_RUNNING: info(409, 'The request allows one run at a time, and one is active.', 'Wait for its end, or kill it.'),
  ALREADY_PENDING: info(
    409,
    'The run is waiting already.',
    'Nothing needs to be done: it starts as soon as a machine is free.',
  ),
  RUN_ID_USED: info(
    409,
    'An earlier run of the request has this run id, and the call asked for a new one (`newRunId`).',
    'Follow the earlier run, which the message names, or choose another run id.',
  ),
  REQUEST_HAS_FOLLOWERS: info(
    409,
    'Other requests follow the request to remove, or start after it; the message names them.',
    'Remove the followers, change their `after` or `startAfter`, or use `force`.',
  ),
  FLOW_RUNNING: info(
    409,
    'The request from which a flow should run again, or one of its followers, still has a run in the flow.',
    'Wait until these runs have ended, or kill them.',
  ),
  CLEANUP_EXISTS: info(
    409,
    'The task has an order to end already, which `cleanup` of the answer contains.',
    'Wait, or call with `override` to end it at once.',
  ),
  METADATA_EXISTS: info(409, 'The task has a note of this type from the same millisecond.', 'Send it once more.'),
  MACHINE_STATE: info(
    409,
    'The state of the slave or rack does not permit this change.',
    'Read its state; the message names it.',
  ),
  SESSIONS_NOT_OFFERED: info(
    409,
    'The settings do not allow sessions of browsers.',
    'Send the token in the header Authorization, or ask the operator to allow COOKIE (`auth.authenticators`).',
  ),
  SET_BY_SETTINGS: info(409, 'The settings determine this value, and no call can change it.', 'Change the settings.'),
  NOT_LEADER: info(
    409,
    'A call for the leader has reached another instance.',
    'Call the leader, which the answer names.',
  ),
  IDEMPOTENT_CALL_RUNNING: info(
    409,
    'A call with the same `Idempotency-Key` is running.',
    'Repeat the call after `Retry-After` to get its answer.',
  ),
  IDEMPOTENT_CALL_DONE: info(
    409,
    'A call with the same key was carried out, and its answer was lost.',
    'Check its effect before you call with another key.',
  ),
  METHOD_NOT_ALLOWED: info(405, 'The path does not have this method; `Allow` lists its methods.', 'Use one of them.'),
  NOT_ACCEPTABLE: info(406, '`Accept` excludes JSON.', 'Accept `application/json`.'),
  OBJSTORE_TIMEOUT: info(
    408,
    'The object store exceeded the time limit of the search.',
    'Narrow the search, or repeat it.',
  ),
  CALL_TIMEOUT: info(408, 'The call did not arrive in time.', 'Send it faster, or in several calls.'),
  BODY_TOO_LARGE: info(
    413,
    'The body exceeds the limit.',
    'Send less; the message contains the limit and its setting.',
  ),
  UNSUPPORTED_MEDIA_TYPE: info(
    415,
    'The content type is not JSON, or the encoding is unknown.',
    'Send `Content-Type: application/json`.',
  ),
  RANGE_NOT_SATISFIABLE: info(416, 'The `Range` is outside the file.', 'Use a range within the size in the answer.'),
  EXPECTATION_FAILED: info(417, '`Expect` has another value than `100-continue`.', 'Omit the header.'),
  UNKNOWN_HOST: info(
    421,
    '`Host` is an unknown name.',
    'Use the address of the service, or ask the operator to add the name to `http.allowedHosts`.',
  ),
  IDEMPOTENCY_KEY_REUSED: info(422, 'The key was used for another call.', 'Use a new key for each change.'),
  TOO_MANY_BODIES: info(429, 'Too many bodies from this address are arriving.', 'Send fewer at a time.'),
  TOO_MANY_RUNS: info(
    429,
    'The request or its group has the maximum of waiting runs.',
    'Wait until some have started.',
  ),
  TOO_MANY_COMMANDS: info(
    429,
    'The task has the maximum of waiting and running shell commands.',
    'Wait until some have ended.',
  ),
  TOO_MANY_TOKENS: info(429, 'The caller created too many tokens in a minute.', 'Wait, and use one token for longer.'),
  TOO_MANY_FAILURES: info(
    429,
    'Too many wrong tokens came from this address.',
    'Wait for `Retry-After`, and use the right token.',
  ),
  TOO_MANY_STREAMS: info(
    429,
    'The caller has too many event streams open, or replays events too often.',
    'Keep one stream open, and resume at its last id.',
  ),
  HEADERS_TOO_LARGE: info(
    431,
    'The URL and the headers together are too long.',
    'Send lists in the body, if the operation has one.',
  ),
  DIRECTORY_FAILED: info(
    500,
    'The directory of users does not answer.',
    'Repeat the call; the log contains the cause.',
  ),
  INTERNAL_ERROR: info(
    500,
    'A defect of the service; the log contains it with the `requestId`.',
    'Report it, with the `requestId`.',
  ),
  TEST_EXCEPTION: info(500, 'A test operation requested a failure.', 'Nothing needs to be done.'),
  OBJSTORE_UNAVAILABLE: info(
    502,
    'The object store refuses access, or fails.',
    'The operator checks its keys and address.',
  ),
  UNAVAILABLE: info(
    503,
    'The database or another part does not answer, or the service is overloaded; nothing was changed unless the message says so.',
    'Repeat the call after `Retry-After`; repeat changes with an `Idempotency-Key`.',
  ),
  OUT_OF_RESOURCES: info(
    503,
    'The database lacks disk, memory or connections.',
    'Repeat the call when the operator has freed resources.',
  ),
  NEWER_SCHEMA: info(
    503,
    'A newer Muster has migrated the database of this instance.',
    'The operator upgrades or stops this instance.',
  ),
} as const satisfies Record<string, ErrorInfo>;
export type ErrorCode = keyof typeof errorCodes;
