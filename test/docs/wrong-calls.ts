/** A call of the API; a text as body is sent as it is. */
export type Call = [method: string, path: string, body?: unknown, headers?: Record<string, string>];
export const request = (more: object): Call => ['POST', 'requests', { id: 'new', requestType: 'SERVICE', ...more }];
const small = { cpus: 0.1, memoryMb: 16 };
export const deployOf = (requestId: string, more: object): Call => [
  'POST',
  'deploys',
  { deploy: { requestId, id: 'd9', command: 'sleep 1', resources: small, ...more } },
];
export const deploy = (more: object): Call => deployOf('svc', more);
const container = (more: object, network = 'BRIDGE'): Call =>
  deploy({ containerInfo: { type: 'DOCKER', docker: { image: 'img', network, ...more } } });
const text = (length: number): string => 'a'.repeat(length);
const scheduled = (more: object): Call =>
  request({ requestType: 'SCHEDULED', schedule: '0 0 * * *', scheduleType: 'CRON', ...more });
const job = (more: object): Call => request({ requestType: 'ON_DEMAND', ...more });
const raw = (body: string): string => body;
const tooMany = 10_001;
const note = (more: object): Call => ['POST', `tasks/task/${task}/metadata`, { type: 'note', title: 'one', ...more }];
const task = 'svc-d1-1700000000000-1-host-rack';
const webhook = (more: object): Call => ['POST', 'webhooks', { uri: 'http://127.0.0.1:9/', type: 'TASK', ...more }];
const tokenFor = (more: object): Call => ['POST', 'auth/token', { user: { id: 'ada' }, ...more }];

const day = 86_400_000;
const backfill = (more: object): Call => ['POST', 'requests/request/cron/backfill', { from: 0, to: day, ...more }];

const autoscale = (more: object) => ({ autoscale: { min: 1, max: 4, metric: 'CPU', target: 60, ...more } });
const gates = (gate: object) => ({ canaryDeploySettings: { gates: [gate] } });
const step = (name: string, more: object = {}) => ({ name, command: 'true', ...more });
const query = {
  type: 'PROMETHEUS',
  uri: 'https://example.com',
  query: 'up',
  threshold: { operator: 'LT', value: 1 },
};

/** Beginning of the rule, as it stands on the page, and what breaks it. */
export const wrong: [rule: string, ...Call[]][] = [
  ['calls that may change something', ['POST', 'requests', { id: 'new' }, { 'sec-fetch-site': 'cross-site' }]],
  ['`Idempotency-Key`', ['POST', 'requests', { id: 'new', requestType: 'WORKER' }, { 'idempotency-key': text(256) }]],
  ['the path: below the context path', ['GET', '../none']],
  ['body: `application/json`', ['POST', 'requests', raw('{}'), { 'content-type': 'text/plain' }]],
  ['body of one address', ['POST', 'notifications/subscribe', raw('{}'), { 'content-type': 'text/xml' }]],
  [
    'body: JSON and nothing after it',
    ['POST', 'requests', raw('{"id": ')],
    ['POST', 'requests', raw(`${'['.repeat(65)}${']'.repeat(65)}`)],
  ],
  ['members of a body', ['POST', 'requests', raw('{"id": "new", "requestType": "SERVICE", "id": "other"}')]],
  ['ids, names, words', request({ id: text(501) }), deploy({ env: { [text(501)]: 'x' } })],
  [
    'schedules and patterns of a record',
    request({ taskLogErrorRegex: text(1_001) }),
    scheduled({ schedule: text(1_001) }),
  ],
  ['search expressions', ['GET', `sandbox/${task}/read?path=x&grep=${text(257)}`]],
  [
    'paths of files, keys of objects',
    ['GET', `sandbox/${task}/read?path=${text(4_097)}`],
    ['GET', `requests/request/${text(4_097)}`],
  ],
  [
    'addresses, tokens, secrets',
    webhook({ secret: text(8_193) }),
    deploy({ uris: [{ uri: `http://host/${text(8_193)}` }] }),
  ],
  [
    'messages of users about their actions',
    ['PUT', 'requests/request/svc/scale', { instances: 1, message: text(10_001) }],
  ],
  ['notes on tasks', note({ message: text(100_001) })],
  ['commands, arguments, values', deploy({ command: text(131_073) }), deploy({ env: { A: text(131_073) } })],
  [
    'lists of texts or numbers, maps',
    deploy({ arguments: Array(tooMany).fill('x') }),
    request({ owners: Array(tooMany).fill('x') }),
  ],
  ['lists of records', deploy({ uris: Array(1_001).fill({ uri: 'http://host/file' }) })],
  [
    'a body: at most 20000 values',
    ['POST', 'requests', { id: 'new', requestType: 'WORKER', other: Array(20_001).fill(1) }],
  ],
  [
    'a request, a deploy, a run as a whole',
    deploy({ arguments: Array(30).fill(text(10_000)) }),
    request({ requiredSlaveAttributes: { a: text(131_000), b: text(131_000), c: text(131_000) } }),
    ['POST', 'requests/request/job/run', { commandLineArgs: Array(30).fill(text(10_000)) }],
  ],
  [
    'words that no new id',
    request({ id: '--' }),
    request({ group: '__proto__' }),
    deploy({ id: 'constructor' }),
    ['POST', 'groups', { id: '-', requestIds: [] }],
  ],
  ['any object', deploy({ loadBalancerOptions: { a: text(65_537) } })],
  ['points in time: not after', ['POST', 'requests/request/job/run', { runAt: 9e15 }]],
  [
    'points in time in queries',
    ['GET', 'history/tasks?requestId=svc&startedAfter=yesterday'],
    ['GET', 'history/tasks?requestId=svc&startedAfter=2026-13-01'],
  ],
  ['durations', ['POST', 'requests/request/svc/pause', { durationMillis: 11 * 366 * 86_400_000 }]],
  ['numbers of cores or MB', deploy({ resources: { cpus: 1e13, memoryMb: 1 } })],
  ['any text: without', deploy({ command: 'a\u0000b' }), request({ owners: ['\ud800'] })],
  [
    'numbers, truth values',
    request({ instances: '2' }),
    request({ instances: 1.5 }),
    request({ rackSensitive: 'true' }),
  ],
  ['maps of text', deploy({ env: { A: ['x'] } })],
  ['enumerations in bodies', request({ requestType: 'service' }), request({ requestType: 'SERVER' })],
  [
    'enumerations in paths and queries',
    ['GET', 'history/tasks?requestId=svc&orderDirection=none'],
    ['GET', 'history/tasks?requestId=svc&lastTaskStatus=none'],
  ],
  [
    '`count`, `page`, `limit`',
    ['GET', 'history/tasks?requestId=svc&count=-1'],
    ['GET', 'history/tasks?requestId=svc&page=x'],
  ],
  [
    '`to` of upcoming runs',
    ['GET', 'schedules/upcoming?from=2026-01-02&to=2026-01-01'],
    ['GET', 'schedules/upcoming?from=2026-01-01&to=2027-01-03'],
    ['GET', 'schedules/upcoming?limit=10001'],
  ],
  [
    '`limit` of the audit trail',
    ['GET', 'audit?limit=10001'],
    ['GET', 'audit?outcome=MAYBE'],
    ['GET', 'audit?from=yesterday'],
  ],
  [
    '`preferences` of a user',
    ['PUT', 'users/settings/preferences', {}],
    ['PUT', 'users/settings/preferences', { preferences: 'blue' }],
    ['PUT', 'users/settings/preferences', { preferences: { a: text(16_384) } }],
    ['POST', 'users/settings', { starredRequestIds: [], preferences: {} }],
  ],
  ['`cursor` of a list', ['GET', 'requests?cursor=abc'], ['GET', 'requests?cursor=*&cursor=YQ']],
  ['ids of tasks: as the service', ['GET', 'tasks/task/none']],

  ['`id`: given; letters', request({ id: '' }), request({ id: 'a b' }), request({ id: 'ids' })],
  ['`id` of a new request', request({ id: 'null' })],
  ['`id`: at most so many', request({ id: text(101) })],
  ['`requestType`: given', ['POST', 'requests', { id: 'new' }]],
  ['`requestType`: stays', request({ id: 'svc', requestType: 'ON_DEMAND' })],
  [
    '`after`: of ON_DEMAND',
    request({ after: [{ requestId: 'job', on: 'END' }] }),
    job({ after: [] }),
    job({ after: [{ requestId: 'svc', on: 'END' }] }),
    job({ after: [{ requestId: 'new', on: 'END' }] }),
  ],
  [
    '`startAfter`',
    job({ startAfter: ['svc'] }),
    request({ startAfter: [] }),
    request({ startAfter: ['job'] }),
    request({ startAfter: ['new'] }),
    request({ startAfter: ['nobody'] }),
  ],
  [
    '`after`, `startAfter` of `updatedRequest`',
    [
      'POST',
      'deploys',
      {
        deploy: { requestId: 'job', id: 'd9', command: 'sleep 1', resources: small },
        updatedRequest: { id: 'job', requestType: 'ON_DEMAND', after: [{ requestId: 'svc', on: 'END' }] },
      },
    ],
  ],
  ['`afterMode`, `argsFrom`', job({ afterMode: 'ALL' }), job({ argsFrom: 'PARENT' })],
  ['`loadBalanced`: stays', request({ id: 'svc', loadBalanced: true })],
  [
    '`instances`: above 0',
    request({ instances: 0 }),
    scheduled({ instances: 2 }),
    scheduled({ overlapPolicy: 'ALLOW' }),
  ],
  ['`instances`: at most', request({ instances: 26 }), ['PUT', 'requests/request/svc/scale', { instances: 1_000_000 }]],
  ['`instances`: of SERVICE and WORKER', request({ instances: 3, maxScale: 2 }), request({ maxScale: 0 })],
  ['`instances`: within `autoscale.min`', request({ instances: 5, ...autoscale({}) })],
  [
    '`autoscale`: of SERVICE',
    job(autoscale({})),
    request({ slavePlacement: 'SPREAD_ALL_SLAVES', ...autoscale({}) }),
    request(autoscale({ min: 0 })),
    request(autoscale({ stepLimit: 0 })),
    request(autoscale({ target: 0 })),
    request(autoscale({ scaleDownDelayMillis: day + 1 })),
    request({ autoscale: { metric: 'CPU' } }),
  ],
  [
    '`autoscale.max`',
    request(autoscale({ max: 0 })),
    request(autoscale({ max: 26 })),
    request({ maxScale: 2, ...autoscale({}) }),
  ],
  [
    '`autoscale.uri`, `valuePath`, `query`',
    request(autoscale({ query: 'up' })),
    request(autoscale({ uri: 'https://example.com' })),
    request(autoscale({ metric: 'HTTP' })),
    request(autoscale({ metric: 'PROMETHEUS', uri: 'https://example.com' })),
  ],
  ['`autoscale.uri` of PROMETHEUS', request(autoscale({ metric: 'PROMETHEUS', query: 'up' }))],
  [
    '`autoscale.uri`: http or https',
    request(autoscale({ metric: 'HTTP', uri: 'ftp://example.com' })),
    request(autoscale({ metric: 'HTTP', uri: 'http://a:b@example.com' })),
    request(autoscale({ metric: 'HTTP', uri: 'http://169.254.169.254/latest' })),
  ],
  ['`taskPriorityLevel`', request({ taskPriorityLevel: 1.1 })],
  [
    '`schedule`, `quartzSchedule`: SCHEDULED',
    scheduled({ schedule: undefined }),
    scheduled({ schedule: 'x' }),
    scheduled({ schedule: '61 * * * *' }),
  ],
  ['`schedule`, `quartzSchedule`, `scheduleType`', request({ schedule: '0 0 * * *' })],
  ['`scheduleTimeZone`: a time zone', scheduled({ scheduleTimeZone: 'Europe/Atlantis' })],
  ['`schedule`, `quartzSchedule`, `scheduleTimeZone`', scheduled({ schedule: '0 0 30 2 *' })],
  ['`H` in a crontab', scheduled({ schedule: 'H(50-70) * * * *' }), scheduled({ schedule: 'H/61 * * * *' })],
  [
    '`deployWindows`: 1 to 50',
    request({ deployWindows: [] }),
    request({ deployWindows: [{ schedule: '0 0 * * *' }] }),
    request({ deployWindows: [{ from: 2, to: 1 }] }),
    request({ deployWindows: [{ from: 1, to: 2 }] }),
  ],
  [
    '`schedules`: 1 to 20',
    scheduled({ schedules: [{ schedule: '0 0 * * *' }] }),
    scheduled({ schedule: undefined, scheduleType: undefined, schedules: [] }),
    scheduled({
      schedule: undefined,
      scheduleType: undefined,
      schedules: [{ schedule: '0 0 * * *' }, { schedule: '0 0 * * *' }],
    }),
    scheduled({ schedule: undefined, scheduleType: undefined, schedules: [{ schedule: '61 * * * *' }] }),
  ],
  [
    '`overlapPolicy`, `missedRuns`, `schedules`',
    request({ overlapPolicy: 'SKIP' }),
    request({ missedRuns: { policy: 'LAST' } }),
    request({ schedules: [{ schedule: '0 0 * * *' }] }),
    request({ maxRuns: 1 }),
    request({ exclusions: [{ from: 1, to: 2 }] }),
  ],
  [
    '`missedRuns`: `policy` ALL',
    scheduled({ overlapPolicy: 'REPLACE', missedRuns: { policy: 'ALL' } }),
    scheduled({ missedRuns: { policy: 'SKIP', withinMillis: 0 } }),
    scheduled({ missedRuns: {} }),
  ],
  [
    '`waitAtLeastMillisAfterTaskFinishesForReschedule`: not with',
    scheduled({ overlapPolicy: 'BUFFER_ONE', waitAtLeastMillisAfterTaskFinishesForReschedule: 1 }),
  ],
  [
    '`scheduleJitterMillis`: from',
    scheduled({ scheduleJitterMillis: 0 }),
    scheduled({ scheduleJitterMillis: 86_400_001 }),
  ],
  ['`endAt`: not before', scheduled({ startAt: 2_000, endAt: 1_000 }), scheduled({ endAt: 1_000 })],
  ['`maxRuns`: above 0', scheduled({ maxRuns: 0 })],
  [
    '`exclusions`: 1 to 50',
    scheduled({ exclusions: [] }),
    scheduled({ exclusions: [{ schedule: '0 0 * * *' }] }),
    scheduled({ exclusions: [{ from: 2, to: 1 }] }),
    scheduled({ exclusions: [{ schedule: '0 0 * * *', durationMillis: 0 }] }),
    scheduled({ exclusions: [{ schedule: '0 0 * * *', durationMillis: 1 }] }),
  ],
  [
    'preview of schedules',
    ['POST', 'schedules/preview', { schedule: '61 * * * *' }],
    ['POST', 'schedules/preview', { schedule: '0 0 * * *', count: 1_001 }],
    ['POST', 'schedules/preview', { schedule: '0 0 * * *', scheduleJitterMillis: 5 }],
  ],
  ['`loadBalanced`, `rackSensitive`', request({ requestType: 'RUN_ONCE', loadBalanced: true })],
  [
    '`retry`: not for SERVICE',
    request({ retry: { attempts: 1 } }),
    job({ retry: {} }),
    job({ retry: { attempts: 0 } }),
    job({ retry: { attempts: 1_001 } }),
    job({ retry: { attempts: 1, delayMillis: 2_592_000_001 } }),
    job({ retry: { attempts: 1, delayMillis: 1, backoffFactor: 0.5 } }),
    job({ retry: { attempts: 1, delayMillis: 1, jitter: 1.1 } }),
  ],
  [
    '`retry`: `backoffFactor`',
    job({ retry: { attempts: 1, backoffFactor: 2 } }),
    job({ retry: { attempts: 1, jitter: 0.5 } }),
    job({ retry: { attempts: 1, delayMillis: 5, maxDelayMillis: 9 } }),
    job({ retry: { attempts: 1, delayMillis: 5, backoffFactor: 2, maxDelayMillis: 4 } }),
    job({ retry: { attempts: 1, onExitCodes: [] } }),
    job({ retry: { attempts: 1, onExitCodes: [256] } }),
    job({ retry: { attempts: 1, onExitCodes: [0] } }),
    job({ retry: { attempts: 1, notOnExitCodes: [0, 75] } }),
    job({ retry: { attempts: 1, onExitCodes: Array(257).fill(1) } }),
    job({ retry: { attempts: 1, onExitCodes: [1], notOnExitCodes: [2] } }),
  ],
  ['`numRetriesOnFailure`, `retry`', job({ numRetriesOnFailure: 1, retry: { attempts: 2 } })],
  [
    '`pauseAfterFailures`',
    request({ pauseAfterFailures: 1 }),
    job({ requestType: 'RUN_ONCE', pauseAfterFailures: 1 }),
    job({ pauseAfterFailures: 0 }),
    job({ pauseAfterFailures: 1_001 }),
  ],
  [
    '`keepRuns`',
    request({ keepRuns: {} }),
    request({ keepRuns: { count: 0 } }),
    request({ keepRuns: { count: 1_000_001 } }),
    request({ keepRuns: { days: 3_651 } }),
  ],
  [
    '`concurrencyGroup`',
    request({ concurrencyGroup: { name: 'db', limit: 1 } }),
    job({ concurrencyGroup: { name: 'a b', limit: 1 } }),
    job({ concurrencyGroup: { name: '', limit: 1 } }),
    job({ concurrencyGroup: { name: text(101), limit: 1 } }),
    job({ concurrencyGroup: { name: 'db' } }),
    job({ concurrencyGroup: { name: 'db', limit: 0 } }),
    job({ concurrencyGroup: { name: 'db', limit: 10_001 } }),
  ],
  [
    '`numRetriesOnFailure`, `killOld',
    request({ numRetriesOnFailure: 2 }),
    request({ taskExecutionTimeLimitMillis: 2 }),
  ],
  [
    '`restart`: only SERVICE',
    request({ requestType: 'RUN_ONCE', restart: {} }),
    request({ restart: { initialDelayMillis: 2, maxDelayMillis: 1 } }),
    request({ restart: { backoffFactor: 0.5 } }),
  ],
  ['`maxTasksPerOffer`', request({ maxTasksPerOffer: 0 })],
  ['`slaveAttributeMinimums`', request({ slaveAttributeMinimums: { a: { b: 101 } } })],
  ['`slavePlacement`', request({ slavePlacement: 'SPREAD_ALL_SLAVES' })],
  ['`requiredRole`', request({ requiredRole: 'other' })],

  ['`deploy.requestId`', deployOf('none', {})],
  ['`deploy.id`: given', deploy({ id: undefined })],
  ['`deploy.id`: letters', deploy({ id: 'a-b' }), deploy({ id: 'd1' })],
  ['`deploy.id`: at most so many', deploy({ id: text(51) })],
  ['`command`, `executorData`, `containerInfo`', deploy({ command: undefined })],
  ['`command`, `arguments`, `env`, `taskEnv`', deploy({ env: { STARTED_BY_USER: 'x' } })],
  [
    '`containerInfo`: `type` given',
    deploy({ containerInfo: { docker: { image: 'x' } } }),
    deploy({ containerInfo: { type: 'DOCKER' } }),
  ],
  [
    '`containerInfo.docker.portMappings`: a port',
    container({
      portMappings: [{ containerPort: 9, containerPortType: 'FROM_OFFER', hostPort: 80, hostPortType: 'LITERAL' }],
    }),
  ],
  ['`healthcheck`: `uri`', deploy({ healthcheck: {} })],
  ['`healthcheck.type`: only', deploy({ healthcheck: { type: 'HTTP', healthcheckResultFilePath: 'ok' } })],
  ['`healthcheck.command`: given', deploy({ healthcheck: { type: 'COMMAND' } })],
  ['`healthcheck`: `uri`, `protocol`', deploy({ healthcheck: { type: 'COMMAND', command: 'true', uri: '/' } })],
  ['`healthcheck.liveness`: only', deploy({ healthcheck: { healthcheckResultFilePath: 'ok', liveness: {} } })],
  ['`healthcheck.liveness.uri`', deploy({ healthcheck: { type: 'COMMAND', command: 'true', liveness: { uri: '/' } } })],
  [
    '`healthcheck.liveness.intervalSeconds`',
    deploy({ healthcheck: { type: 'COMMAND', command: 'true', liveness: { intervalSeconds: 0 } } }),
    deploy({ healthcheck: { type: 'COMMAND', command: 'true', liveness: { failureThreshold: 1_001 } } }),
  ],
  [
    '`healthcheck.liveness.maxUnhealthyReplacements`',
    deploy({
      healthcheck: { type: 'COMMAND', command: 'true', liveness: { action: 'NONE', maxUnhealthyReplacements: 1 } },
    }),
  ],
  [
    '`healthcheck.portIndex`',
    deploy({ healthcheck: { uri: '/', portIndex: 3 }, resources: { ...small, numPorts: 1 } }),
  ],
  ['`healthcheck.portNumber`', deploy({ healthcheck: { uri: '/', portNumber: 70_000 } })],
  ['`healthcheck.uri`', deploy({ healthcheck: { uri: 'http://other/' }, resources: { ...small, numPorts: 1 } })],
  [
    '`healthcheck.startupDelaySeconds`',
    deploy({ healthcheck: { uri: '/', startupDelaySeconds: 601 }, resources: { ...small, numPorts: 1 } }),
  ],
  ['`killGracePeriodMillis`', deploy({ killGracePeriodMillis: 0 })],
  [
    '`killSignal`',
    deploy({
      command: undefined,
      customExecutorCmd: 'x',
      executorData: { cmd: 'true', sigKillProcessesAfterMillis: 0 },
      killSignal: 'SIGINT',
    }),
  ],
  ['`canaryDeploySettings.gates`: only', deployOf('job', gates({ type: 'MANUAL' })), deploy(gates({ type: 'BAKE' }))],
  [
    '`canaryDeploySettings.canaryCycleCount` with',
    deploy({ canaryDeploySettings: { canaryCycleCount: 101, gates: [{ type: 'MANUAL' }] } }),
  ],
  ['`canaryDeploySettings.gates[].uri` of PROMETHEUS', deploy(gates({ ...query, uri: undefined }))],
  [
    '`canaryDeploySettings.gates[].requireOtherApprover`',
    deploy(gates({ type: 'MANUAL', requireOtherApprover: true })),
  ],
  [
    '`canaryDeploySettings.gates[].valuePath`',
    deploy(gates({ type: 'HTTP', uri: 'https://example.com', valuePath: 'a' })),
  ],
  [
    '`canaryDeploySettings.gates[]`: `durationMillis`',
    deploy(gates({ type: 'BAKE', durationMillis: 2_592_000_001 })),
    deploy(gates({ ...query, intervalMillis: 999 })),
    deploy(gates({ ...query, count: 101 })),
    deploy(gates({ ...query, failureLimit: 101 })),
  ],
  [
    '`tasks`: at least one',
    deploy({ tasks: {} }),
    deploy({ tasks: { init: [] } }),
    deploy({ tasks: { post: Array.from({ length: 11 }, (_, index) => step(`s${index}`)) } }),
    deploy({ command: undefined, customExecutorCmd: 'x', executorData: { cmd: 'true' }, tasks: { init: [step('a')] } }),
  ],
  [
    '`tasks.init[].name`, as',
    deploy({ tasks: { init: [step('a')], post: [step('a')] } }),
    deploy({ tasks: { init: [step('A')] } }),
    deploy({ tasks: { sidecars: [step('main')] } }),
    deploy({ tasks: { post: [step('a'.repeat(41))] } }),
  ],
  [
    '`tasks.init[].command`, as',
    deploy({ tasks: { init: [{ name: 'a' }] } }),
    deploy({ tasks: { init: [step('a', { command: ' ' })] } }),
    deploy({ tasks: { sidecars: [step('a', { env: { STARTED_BY_USER: 'me' } })] } }),
  ],
  [
    '`tasks.init[].timeoutMillis`, as',
    deploy({ tasks: { init: [step('a', { timeoutMillis: 0 })] } }),
    deploy({ tasks: { post: [step('a', { timeoutMillis: 86_400_001 })] } }),
  ],
  [
    '`tasks.sidecars[].resources`',
    deploy({ tasks: { sidecars: [step('a', { resources: { cpus: -1 } })] } }),
    deploy({ tasks: { sidecars: [step('a', { resources: { cpus: 51 } })] } }),
  ],
  ['`preStop`: `command`', deploy({ preStop: {} }), deploy({ preStop: { http: { uri: '/' } } })],
  ['`preStop.timeoutMillis`', deploy({ killGracePeriodMillis: 5, preStop: { command: 'true', timeoutMillis: 5 } })],
  [
    '`resources.cpus`: above 0',
    deploy({ resources: { cpus: 0, memoryMb: 16 } }),
    deploy({ resources: { cpus: 51, memoryMb: 16 } }),
  ],
  [
    '`resources.memoryMb`: above 0',
    deploy({ resources: { cpus: 1, memoryMb: 0 } }),
    deploy({ resources: { cpus: 1, memoryMb: 24_001 } }),
  ],
  ['`resources.diskMb`: per task', deploy({ resources: { ...small, diskMb: 60_001 } })],
  ['`resources.cpus`: of all', deployOf('many', { resources: { cpus: 40, memoryMb: 1 } })],
  ['`resources.memoryMb`: of all', deployOf('many', { resources: { cpus: 0.1, memoryMb: 20_000 } })],
  [
    '`resources.diskMb`: of all',
    [
      'POST',
      'deploys',
      {
        deploy: { requestId: 'many', id: 'd9', command: 'x', resources: { ...small, diskMb: 60_000 } },
        updatedRequest: { id: 'many', requestType: 'WORKER', instances: 60 },
      },
    ],
  ],
  [
    '`resources.extended`',
    deploy({ resources: { ...small, extended: { gpu: 1 } } }),
    deploy({ resources: { ...small, extended: { 'kubernetes.io/gpu': 1 } } }),
    deploy({ resources: { ...small, extended: { 'a.b/gpu': 0 } } }),
    deploy({ resources: small, customExecutorResources: { cpus: 1, extended: { 'a.b/gpu': 1 } } }),
  ],
  ['`clusterLabels`', deploy({ labels: { a: 'b' }, clusterLabels: [{ key: 'a', value: 'c' }] })],
  [
    '`executorData.externalArtifacts`',
    deploy({
      executorData: {
        cmd: 'x',
        externalArtifacts: Array(1_001).fill({ name: 'a', url: 'http://host/x', filename: 'x' }),
      },
    }),
  ],
  [
    '`deployInstanceCountPerStep`',
    deploy({ deployInstanceCountPerStep: 0 }),
    deployOf('many', { deployStrategy: 'OLD_FIRST', deployInstanceCountPerStep: 2 }),
  ],
  [
    '`deployStrategy` OLD_FIRST',
    deployOf('job', { deployStrategy: 'OLD_FIRST' }),
    deployOf('many', { deployStrategy: 'OLD_FIRST', canaryDeploySettings: { enableCanaryDeploy: false } }),
  ],
  ['`maxUnavailable`', deploy({ maxUnavailable: 1 }), deploy({ deployStrategy: 'OLD_FIRST', maxUnavailable: 2 })],
  [
    'an apply: `request`',
    ['POST', 'requests/apply', {}],
    [
      'POST',
      'requests/apply',
      {
        request: { id: 'new', requestType: 'WORKER' },
        deploy: { requestId: 'svc', command: 'sleep 1', resources: small },
      },
    ],
  ],
  ['`runImmediately`', deploy({ runImmediately: {} })],
  [
    '`targetActiveInstances`',
    ['POST', 'deploys/update', { requestId: 'svc', deployId: 'd1', targetActiveInstances: 0 }],
  ],

  [
    'an apply',
    ['POST', 'requests/apply', { message: 'nothing' }],
    [
      'POST',
      'requests/apply',
      { request: { id: 'new', requestType: 'SERVICE' }, deploy: { requestId: 'svc', command: 'sleep 1' } },
    ],
  ],
  [
    'variables and arguments of a run',
    ['POST', 'requests/request/job/run', { commandLineArgs: ['é'.repeat(66_000)] }],
    deploy({ arguments: ['é'.repeat(66_000)] }),
  ],
  [
    '`runId`: not empty',
    ['POST', 'requests/request/job/run', { runId: '' }],
    ['POST', 'requests/request/job/run', { runId: text(101) }],
  ],
  ['`runAt`: at most', ['POST', 'requests/request/job/run', { runAt: Date.now() + 40 * 86_400_000 }]],
  ['`resources` of a run', ['POST', 'requests/request/job/run', { resources: { cpus: 51, memoryMb: 1 } }]],
  ['`envOverrides`', ['POST', 'requests/request/job/run', { envOverrides: { STARTED_BY_USER: 'x' } }]],
  ['a run: only SCHEDULED', ['POST', 'requests/request/svc/run', {}]],
  [
    'a backfill: only SCHEDULED',
    ['POST', 'requests/request/svc/backfill', { from: 0, to: day }],
    backfill({ to: 0 }),
    backfill({ to: 250_000_000_000_000 }),
    backfill({ to: 2_000 * day }),
    backfill({ from: 1 }),
    backfill({ concurrency: 0 }),
    backfill({ concurrency: 101 }),
    backfill({ order: 'SIDEWAYS' }),
  ],
  ['a bounce: only SERVICE', ['POST', 'requests/request/job/bounce', {}]],
  [
    'a pause, unpause',
    ['POST', 'requests/request/svc/unpause', {}],
    ['POST', 'requests/request/svc/exit-cooldown', {}],
  ],

  ['`token` of a new token', tokenFor({ token: 'mine' })],
  ['`name` of it', tokenFor({ name: text(101) })],
  ['`expiresAt` of it', tokenFor({ expiresAt: 1 })],
  ['`uri` of a webhook: at most', webhook({ uri: `http://host/${text(2_500)}` })],
  [
    '`uri`, `type` of a webhook',
    webhook({ type: undefined }),
    webhook({ uri: 'ftp://host/' }),
    webhook({ uri: 'http://user:word@host/' }),
  ],
  ['`webhookId` of a test', ['POST', 'webhooks/test?webhookId=none', {}]],
  ['`lastEventId`', ['GET', 'events?lastEventId=abc'], ['GET', 'events', undefined, { 'last-event-id': text(16) }]],
  ['`type` of an event stream', ['GET', 'events?type=none']],
  ['`nextRuns` of a list', ['GET', 'requests?nextRuns=true'], ['GET', 'requests?nextRuns=true&limit=101']],
  ['`id` of a request group', ['POST', 'groups', { id: 'a b', requestIds: [] }]],
  ['`requestIds` of a request group', ['POST', 'groups', { id: 'web' }]],
  ['`minimumPriorityLevel`', ['POST', 'priority/freeze', { minimumPriorityLevel: 2 }]],
  ['`revertToState`', ['POST', 'slaves/slave/slave-1/freeze', { durationMillis: 60_000, revertToState: 'DEAD' }]],
  ['`host` of an inactive host', ['POST', 'inactive', {}], ['POST', 'inactive?host=', {}]],
  ['address of a notification', ['POST', 'notifications/subscribe', 'no address']],
  ['test operations', ['POST', 'test/scheduler/statusUpdate/x/TASK_LOST', {}]],
];
