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
  lifecycle: 'preStop, of the deploy',
  backoffseconds: 'restart.initialDelayMillis, of the request',
  backofffactor: 'restart.backoffFactor, of the request',
  maxlaunchdelayseconds: 'restart.maxDelayMillis, of the request',
  readinessprobe: 'healthcheck, of the deploy, which is asked until the task is healthy',
  canarysettings: 'canaryDeploySettings, of the deploy',
  canary: 'canaryDeploySettings, of the deploy',
  strategy: 'canaryDeploySettings, of the deploy',
  updatestrategy: 'deployStrategy, of the deploy',
  upgradestrategy: 'deployStrategy, of the deploy',
  max_parallel: 'deployInstanceCountPerStep, of the deploy',
  depends_on: 'startAfter, of the request',
  dependson: 'startAfter, of the request',
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
  concurrencypolicy:
    'nothing: runs of a SCHEDULED request never overlap, and instances of an ON_DEMAND request limits them',
  prohibit_overlap: 'nothing: runs of a SCHEDULED request never overlap',
};

/** `near`: what is known by a similar name. undefined: nothing better can be said. */
export function otherName(name: string, near: string | undefined): string | undefined {
  const key = name.slice(0, 60).toLowerCase();
  if (!Object.hasOwn(places, key)) return undefined;
  const place = places[key]!;
  const [member = ''] = place.split(',');
  return near !== undefined && (member === near || member.endsWith(`.${near}`)) ? undefined : `here it is ${place}`;
}
