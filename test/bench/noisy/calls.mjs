// Calls of the noisy tenant, by kind. All of them are allowed to an ordinary token; limits refuse some.
import { gzipSync } from 'node:zlib';

/** Requests that it has from the start. */
export const ownRequests = 500;
export const jobs = 20;
export const writer = 'noisy-writer';

const resources = { cpus: 0.01, memoryMb: 1, diskMb: 0 };
export const request = (id) => ({
  id,
  requestType: 'ON_DEMAND',
  group: 'noisy',
  owners: ['noisy@example.com'],
  requiredSlaveAttributes: {},
  slaveAttributeMinimums: {},
  emailConfigurationOverrides: { TASK_FAILED: [], TASK_LOST: [], REQUEST_IN_COOLDOWN: [] },
});
export const deploy = (requestId, id, more = {}) => ({
  deploy: { requestId, id, command: 'true', resources, env: { LEVEL: 'info', REGION: 'eu-1' }, ...more },
});

const json = (value) => JSON.stringify(value);
const turn = (values, n) => values[n % values.length];
let made = 0;
const fresh = () => `${process.pid}x${++made}`;

const lists = [
  'requests',
  'requests/active',
  'requests/ids',
  'requests/queued/pending',
  'requests/queued/cleanup',
  'deploys/pending',
  'tasks/active',
  'tasks/active/ids',
  'tasks/scheduled',
  'tasks/cleaning',
  'history/tasks?count=1000',
  'history/requests/search?requestIdLike=noisy&count=1000',
  `history/request/noisy-job-0/tasks?count=1000`,
  `history/request/noisy-job-0/deploys?count=1000`,
  `requests/request/noisy-job-0`,
  `requests/request/noisy-job-0/explain`,
  'state?skipCache=true',
  'usage/requests',
  'groups',
];

const text = (bytes) => 'x'.repeat(bytes);
/** A deploy just below the limit of records, one above it, many members, and these packed. The texts are made once. */
const long = json(text(9_000_000));
const most = json(
  deploy('noisy-big', 'm', { labels: Object.fromEntries(Array.from({ length: 90_000 }, (_, n) => [`m${n}`, 'v'])) }),
);
const packed = gzipSync(most);
const fitting = json({ A: text(100_000), B: text(100_000), C: text(50_000) });
const withEnv = (env) =>
  `{"deploy":{"requestId":"noisy-big","id":"${fresh()}","command":"true","resources":{"cpus":0.01,"memoryMb":1},"env":${env}}}`;
const bigBodies = [
  () => ({ body: withEnv(fitting) }),
  () => ({ body: withEnv(`{"A":${long}}`) }),
  () => ({ body: most }),
  () => ({ body: packed, headers: { 'content-encoding': 'gzip' } }),
];

/** `connections`: so many calls of the kind at a time. `whole: false`: hung up after the first piece of the answer. */
export const kinds = {
  creates: {
    connections: 16,
    call: () => ({ method: 'POST', path: 'requests', body: json(request(`noisy-${fresh()}`)) }),
  },
  updates: {
    connections: 16,
    call: (n) =>
      n % 3 === 0
        ? {
            method: 'POST',
            path: 'requests',
            body: json({ ...request(`noisy-own-${n % ownRequests}`), owners: [`${n}@example.com`] }),
          }
        : {
            method: 'PUT',
            path: `requests/request/noisy-own-${n % 10}/priority`,
            body: json({ priority: (n % 10) / 10 + 0.05 }),
          },
  },
  deploys: {
    connections: 16,
    call: (n) => ({ method: 'POST', path: 'deploys', body: json(deploy(`noisy-own-${n % ownRequests}`, fresh())) }),
  },
  runs: {
    connections: 16,
    call: (n) => ({
      method: 'POST',
      path: `requests/request/noisy-job-${n % jobs}/run`,
      body: json({ runId: fresh() }),
    }),
  },
  lists: { connections: 16, call: (n) => ({ path: turn(lists, n) }) },
  replays: { connections: 8, whole: false, call: () => ({ path: 'events?lastEventId=0' }) },
  logs: {
    connections: 8,
    call: (n, { taskId }) =>
      turn(
        [
          { path: `sandbox/${taskId}/read?path=stdout&grep=never&length=1000000&offset=0` },
          { path: `sandbox/${taskId}/read?path=stdout&length=65536&offset=${(n * 65_536) % 5_000_000}` },
          { path: `sandbox/${taskId}/browse?path=` },
          {
            method: 'POST',
            path: 'logs/search',
            body: json({ requestsAndDeploys: { [writer]: [] }, taskIds: [taskId] }),
          },
          { path: `logs/request/${writer}` },
        ],
        n,
      ),
  },
  bigBodies: { connections: 8, call: (n) => ({ method: 'POST', path: 'deploys', ...turn(bigBodies, n)() }) },
  // A connection of its own for each.
  connects: { connections: 32, reset: true, call: () => ({ path: 'auth/user' }) },
};
