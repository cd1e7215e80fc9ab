/**
 * Names under which other schedulers know what this one calls otherwise, in small letters, and where it is said here. What a request
 * or deploy says by a name that nothing knows would have no effect, so whoever tells of the name tells of this.
 */
const places: Readonly<Record<string, string>> = {
  args: 'arguments, of the deploy',
  cmd: 'command, of the deploy',
  entrypoint: 'command, of the deploy',
  environment: 'env, of the deploy',
  envvars: 'env, of the deploy',
  cpu: 'resources.cpus, of the deploy',
  cpus: 'resources.cpus, of the deploy',
  mem: 'resources.memoryMb, of the deploy',
  memory: 'resources.memoryMb, of the deploy',
  memorymb: 'resources.memoryMb, of the deploy',
  disk: 'resources.diskMb, of the deploy',
  ports: 'resources.numPorts, of the deploy',
  image: 'containerInfo.docker.image, of the deploy',
  volumes: 'containerInfo.volumes, of the deploy',
  artifacts: 'uris, of the deploy',
  fetch: 'uris, of the deploy',
  healthchecks: 'healthcheck, of the deploy',
  livenessprobe: 'healthcheck.liveness, of the deploy',
  check_restart: 'healthcheck.liveness, of the deploy',
  maxconsecutivefailures: 'healthcheck.liveness.failureThreshold, of the deploy',
  kill_signal: 'killSignal, of the deploy',
  stop_signal: 'killSignal, of the deploy',
  stopsignal: 'killSignal, of the deploy',
  kill_timeout: 'killGracePeriodMillis, of the deploy',
  stop_grace_period: 'killGracePeriodMillis, of the deploy',
  terminationgraceperiodseconds: 'killGracePeriodMillis, of the deploy',
  taskkillgraceperiodseconds: 'killGracePeriodMillis, of the deploy',
  lifecycle: 'preStop, or tasks with init, sidecars and post, of the deploy',
  initcontainers: 'tasks.init, of the deploy',
  prestart: 'tasks.init, of the deploy',
  poststop: 'tasks.post, of the deploy',
  sidecar: 'tasks.sidecars, of the deploy',
  sidecars: 'tasks.sidecars, of the deploy',
  backoffseconds: 'restart.initialDelayMillis, of the request',
  backofffactor: 'restart.backoffFactor, of the request',
  maxlaunchdelayseconds: 'restart.maxDelayMillis, of the request',
  autoscaling: 'autoscale, of the request',
  scaling: 'autoscale, of the request',
  minreplicas: 'autoscale.min, of the request',
  maxreplicas: 'autoscale.max, of the request',
  horizontalpodautoscaler: 'autoscale, of the request',
  readinessprobe: 'healthcheck, of the deploy, which is asked until the task is healthy',
  canarysettings: 'canaryDeploySettings, of the deploy',
  canary: 'canaryDeploySettings, of the deploy',
  strategy: 'canaryDeploySettings, of the deploy',
  updatestrategy: 'deployStrategy, of the deploy',
  upgradestrategy: 'deployStrategy, of the deploy',
  max_parallel: 'deployInstanceCountPerStep, of the deploy',
  annotations: 'metadata, of the deploy',
  replicas: 'instances, of the request',
  count: 'instances, of the request',
  scale: 'instances, of the request',
  retries: 'numRetriesOnFailure, of the request',
  maxretries: 'numRetriesOnFailure, of the request',
  attempts: 'numRetriesOnFailure, of the request',
  backofflimit: 'numRetriesOnFailure, of the request',
  cron: 'schedule, of the request',
  crontab: 'schedule, of the request',
  suspend: 'an action on the request: POST /api/requests/request/{requestId}/pause',
  timezone: 'scheduleTimeZone, of the request',
  time_zone: 'scheduleTimeZone, of the request',
  tz: 'scheduleTimeZone, of the request',
  timeout: 'taskExecutionTimeLimitMillis, of the request',
  activedeadlineseconds: 'taskExecutionTimeLimitMillis, of the request',
  owner: 'owners, of the request',
  priority: 'taskPriorityLevel, of the request',
  constraints: 'requiredSlaveAttributes, of the request',
  nodeselector: 'requiredSlaveAttributes, of the request',
  type: 'requestType, of the request',
  kind: 'requestType, of the request',
  concurrencypolicy: 'overlapPolicy, of the request: SKIP where others say Forbid',
  prohibit_overlap: 'overlapPolicy, of the request: SKIP, which is the default',
  concurrent: 'overlapPolicy, of the request: ALLOW, with instances',
  startingdeadlineseconds: 'missedRuns.withinMillis, of the request',
  catchup: 'missedRuns, of the request',
  catchup_window: 'missedRuns.withinMillis, of the request',
  jitter: 'scheduleJitterMillis, of the request',
  crons: 'schedules, of the request',
  depends_on: 'after, of the request; startAfter, of a service',
  dependson: 'after, of the request; startAfter, of a service',
  needs: 'after, of the request',
  dependencies: 'after, of the request',
  parents: 'after, of the request',
};

/** The request or the deploy, by its members that have another name elsewhere: they are written into the wrong one most often. */
const owners: ReadonlyMap<string, string> = new Map(
  Object.values(places).flatMap((place) => {
    const [, member, owner] = /^(\w+)[\w.]*, of the (request|deploy)/.exec(place) ?? [];
    return member === undefined || owner === undefined ? [] : [[member, owner] as const];
  }),
);

/** `near`: what is known by a similar name. undefined: nothing better can be said. */
export function otherName(name: string, near: string | undefined): string | undefined {
  const owner = owners.get(name);
  if (owner !== undefined) return `it belongs to the ${owner}`;
  const key = name.slice(0, 60).toLowerCase();
  if (!Object.hasOwn(places, key)) return undefined;
  const place = places[key]!;
  const [member = ''] = place.split(',');
  return near !== undefined && (member === near || member.endsWith(`.${near}`)) ? undefined : `here it is ${place}`;
}
