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
    'A request, or what is asked of one, breaks rules; `errors` names each field and rule.',
    'Mend the named fields (docs/validation.md); the same call is refused again.',
  ),
  INVALID_DEPLOY: info(
    400,
    'A deploy, or its request beside it, breaks rules; `errors` names each field and rule.',
    'Mend the named fields (docs/job-specification.md); the same call is refused again.',
  ),
  INVALID_PARAMETER: info(
    400,
    'A part of the path or query, or a member of another body, breaks a rule.',
    'Mend the named parameter; the served document has its type and limits.',
  ),
  INVALID_JSON: info(
    400,
    'The body is no JSON, no UTF-8, or nested or filled beyond the limits.',
    'Send what a JSON library writes; the message has the place of the first error.',
  ),
  MALFORMED_CALL: info(
    400,
    'What came is no HTTP/1.1 call, such as one without `Host`.',
    'Look at proxies and at hand-made calls.',
  ),
  NOT_PENDING: info(
    400,
    'A deploy is to be cancelled or taken further that is not in progress.',
    "Read the deploy's result: it has ended already.",
  ),
  NOT_SUPPORTED: info(
    400,
    'This cluster cannot do what a deploy asks for, such as containers without an engine.',
    'Ask for less, or have the operator make it possible; the message names both.',
  ),
  SANDBOX_NOT_READY: info(
    400,
    'The files of a task are asked for before it has its directory.',
    'Ask again in a moment.',
  ),
  TASK_NOT_ACTIVE: info(400, 'A shell command is for a task that is not active.', 'Choose an active task.'),
  UNAUTHENTICATED: info(
    401,
    'There is no token, or none that is valid.',
    'Send `Authorization: Token <token>`; make a new token where it was revoked or has expired.',
  ),
  GROUPS_NOT_PERMITTED: info(
    401,
    "The groups that a request is to have are not the caller's.",
    'Name groups of your own, or ask one who may change both.',
  ),
  FORBIDDEN: info(
    403,
    'The caller may not do this here; the message says which right is missing.',
    'Ask for the right, or use another token.',
  ),
  FOREIGN_ORIGIN: info(
    403,
    'A browser made a change on behalf of a page of another origin.',
    'Serve the page from the same origin, or have its origin allowed (`cors.allowedOrigins`).',
  ),
  LINK_NOT_VALID: info(403, 'A link to a log has expired, or was changed.', 'List the logs again for a fresh link.'),
  TEST_CALLS_DISABLED: info(
    403,
    'Test operations are off, as they should be in production.',
    'Set `allowTestResourceCalls` on an installation for tests.',
  ),
  UNKNOWN_SHELL_COMMAND: info(
    403,
    'The settings have no shell command of this name.',
    'Use one of `ui.shellCommands`.',
  ),
  REQUEST_NOT_FOUND: info(
    404,
    'There is no such request: never made, removed, or hidden from the caller.',
    'Look at `GET /api/requests/ids`; what is gone is in the history.',
  ),
  DEPLOY_NOT_FOUND: info(
    404,
    'The request has no such deploy.',
    'Look at `GET /api/history/request/{requestId}/deploys`.',
  ),
  TASK_NOT_FOUND: info(
    404,
    'There is no such task, or nothing is kept of it any more.',
    'Look at the tasks of its request, active and in history.',
  ),
  PENDING_TASK_NOT_FOUND: info(
    404,
    'No such task waits: it was launched meanwhile, or taken back.',
    'Look at the active tasks of its request.',
  ),
  RUN_NOT_FOUND: info(
    404,
    'No task has this run id.',
    'Ask again where the run was just accepted; else compare the id.',
  ),
  FLOW_NOT_FOUND: info(
    404,
    'There is no such flow: none of its runs has ended yet, it was forgotten, or the caller may read none of its requests.',
    'Look at `GET /api/requests/request/{requestId}/flow`; a flow is kept for `flowRetentionDays`.',
  ),
  MACHINE_NOT_FOUND: info(404, 'There is no such slave or rack.', 'Look at `GET /api/slaves` or `GET /api/racks`.'),
  FILE_NOT_FOUND: info(
    404,
    'The sandbox has no such file, or the task had no sandbox.',
    'List its folder; rotated logs have other names.',
  ),
  TOKEN_NOT_FOUND: info(404, "There is no such token, or it is not the caller's.", 'Look at the list of tokens.'),
  WEBHOOK_NOT_FOUND: info(
    404,
    'There is no such webhook.',
    'Look at `GET /api/webhooks`; an id in a path is percent-encoded.',
  ),
  EXPIRING_ACTION_NOT_FOUND: info(
    404,
    'The request has no expiring action of this kind.',
    'It has lapsed already, or was never made: read the request.',
  ),
  OBJSTORE_NOT_CONFIGURED: info(
    404,
    'Logs of ended tasks are asked for, and there is no object store.',
    'Have the operator configure `objstore`, or read the sandbox.',
  ),
  NOT_FOUND: info(
    404,
    'There is nothing at this path, or no such record of a kind without a code of its own.',
    'Compare the path with the served document.',
  ),
  ACTION_DISABLED: info(
    409,
    'An operator has switched this action off for all.',
    'Wait until it is on again (`GET /api/disasters/disabled-actions` says why).',
  ),
  CHANGED_MEANWHILE: info(
    409,
    'Another call changed the record between being read and being written.',
    'Read it again, and decide anew.',
  ),
  REQUEST_BEING_CLEANED: info(
    409,
    'The request is being removed: its tasks are ending.',
    'Wait until it is gone, then make it anew.',
  ),
  REQUEST_PAUSED: info(409, 'The request is paused.', 'Unpause it first.'),
  REQUEST_NOT_PAUSED: info(409, 'An unpause is for a request that is not paused.', 'Nothing needs to be done.'),
  REQUEST_NOT_IN_COOLDOWN: info(
    409,
    'A cooldown is to be left that the request is not in.',
    'Nothing needs to be done.',
  ),
  REQUEST_BOUNCING: info(409, 'A bounce is under way.', 'Wait for its end, or cancel it.'),
  REQUEST_FINISHED: info(409, 'The request has run for the last time.', 'Change its schedule, or deploy it again.'),
  DEPLOY_IN_PROGRESS: info(409, 'Another deploy of the request has not ended.', 'Wait for its end, or cancel it.'),
  NO_DEPLOY: info(409, 'The request has no deploy that could run, or to go back to.', 'Deploy it first.'),
  TASK_RUNNING: info(409, 'The request allows one run at a time, and one is active.', 'Wait for its end, or kill it.'),
  ALREADY_PENDING: info(
    409,
    'The run waits already.',
    'Nothing needs to be done: it starts as soon as it has a place.',
  ),
  RUN_ID_USED: info(
    409,
    'An earlier run of the request has this run id, and the call asked for a new one (`newRunId`).',
    'Follow the earlier run, which the message names, or choose another run id.',
  ),
  REQUEST_HAS_FOLLOWERS: info(
    409,
    'Other requests follow the one that is to be removed; the message names them.',
    'Remove those, have them follow others, or remove it with `force`.',
  ),
  FLOW_RUNNING: info(
    409,
    'A flow is to be run again from a request that still has a run in it, or whose followers have.',
    'Wait for their ends, or kill them.',
  ),
  CLEANUP_EXISTS: info(
    409,
    'The task is being ended already; `cleanup` of the answer says how.',
    'Wait, or call with `override` for an end at once.',
  ),
  METADATA_EXISTS: info(409, 'The task has a note of this type from the same millisecond.', 'Send it once more.'),
  MACHINE_STATE: info(
    409,
    'The slave or rack is in a state from which this cannot be done.',
    'Read its state; the message names it.',
  ),
  SESSIONS_NOT_OFFERED: info(
    409,
    'A browser is to be signed in where the settings have no sessions.',
    'Send the token in the header Authorization, or have the operator allow COOKIE (`auth.authenticators`).',
  ),
  SET_BY_SETTINGS: info(409, 'The settings say so, and a call cannot change it.', 'Change the settings.'),
  NOT_LEADER: info(
    409,
    'A call for the leader alone has reached another instance.',
    'Call the leader, which the answer names.',
  ),
  IDEMPOTENT_CALL_RUNNING: info(
    409,
    'A call with the same `Idempotency-Key` is being done.',
    'Ask again after `Retry-After` for its answer.',
  ),
  IDEMPOTENT_CALL_DONE: info(
    409,
    'A call with the same key was carried out, and its answer was lost.',
    'Look at what it did, before calling with another key.',
  ),
  METHOD_NOT_ALLOWED: info(405, 'The path has no such method; `Allow` has those that there are.', 'Use one of them.'),
  NOT_ACCEPTABLE: info(406, '`Accept` excludes JSON.', 'Accept `application/json`.'),
  OBJSTORE_TIMEOUT: info(
    408,
    'The object store was slower than the search may take.',
    'Narrow the search, or ask again.',
  ),
  CALL_TIMEOUT: info(408, 'The call did not arrive in time.', 'Send it faster, or in parts.'),
  BODY_TOO_LARGE: info(413, 'The body exceeds the limit.', 'Send less; the message has the limit and its setting.'),
  UNSUPPORTED_MEDIA_TYPE: info(
    415,
    'The body is not sent as JSON, or in an unknown encoding.',
    'Send `Content-Type: application/json`.',
  ),
  RANGE_NOT_SATISFIABLE: info(
    416,
    'A file has nothing in the `Range` asked for.',
    'Ask within the size that the answer names.',
  ),
  EXPECTATION_FAILED: info(417, '`Expect` asks for something else than `100-continue`.', 'Leave the header out.'),
  UNKNOWN_HOST: info(
    421,
    '`Host` is a name that this service does not know.',
    'Use its address, or have the name added to `http.allowedHosts`.',
  ),
  IDEMPOTENCY_KEY_REUSED: info(422, 'The key was used for another call.', 'Make a new key for each change.'),
  TOO_MANY_BODIES: info(429, 'Too many bodies from this address are on their way.', 'Send fewer at a time.'),
  TOO_MANY_RUNS: info(429, 'As many runs wait as the request, or its group, may have.', 'Wait until some have run.'),
  TOO_MANY_COMMANDS: info(
    429,
    'As many shell commands of the task wait or run as it may have.',
    'Wait for their ends.',
  ),
  TOO_MANY_TOKENS: info(429, 'The caller made too many tokens in a minute.', 'Wait, and use one token for longer.'),
  TOO_MANY_FAILURES: info(
    429,
    'Too many wrong tokens came from this address.',
    'Wait for `Retry-After`, with the right token.',
  ),
  TOO_MANY_STREAMS: info(
    429,
    'The caller has too many event streams open, or replays events too often.',
    'Keep one stream open, and resume at its last id.',
  ),
  HEADERS_TOO_LARGE: info(
    431,
    'The URL and the headers together are too long.',
    'Send lists in a body, where the operation has one.',
  ),
  DIRECTORY_FAILED: info(
    500,
    'The directory of users cannot be asked.',
    'Ask again; the operator finds the cause in the log.',
  ),
  INTERNAL_ERROR: info(
    500,
    'A defect of the service; the log has it under `requestId`.',
    'Report it, with the `requestId`.',
  ),
  TEST_EXCEPTION: info(500, 'A test operation asked for a failure.', 'Nothing needs to be done.'),
  OBJSTORE_UNAVAILABLE: info(
    502,
    'The object store refuses access, or fails.',
    'The operator looks at its keys and address.',
  ),
  UNAVAILABLE: info(
    503,
    'The database or another part is away, or the service is full; nothing was changed unless the message says so.',
    'Ask again after `Retry-After`; repeat changes with an `Idempotency-Key`.',
  ),
  OUT_OF_RESOURCES: info(
    503,
    'The database is short of disk, memory or connections.',
    'The operator makes room; ask again then.',
  ),
  NEWER_SCHEMA: info(
    503,
    'A newer Muster has migrated the database of this instance.',
    'The operator upgrades or stops this instance.',
  ),
} as const satisfies Record<string, ErrorInfo>;
export type ErrorCode = keyof typeof errorCodes;
