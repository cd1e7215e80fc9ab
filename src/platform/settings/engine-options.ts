/* Options with which docker and podman create a container, as far as their form and their reach have to be known. */

const longNames: Readonly<Record<string, string>> = {
  a: 'attach',
  c: 'cpu-shares',
  d: 'detach',
  e: 'env',
  h: 'hostname',
  i: 'interactive',
  l: 'label',
  m: 'memory',
  p: 'publish',
  P: 'publish-all',
  q: 'quiet',
  t: 'tty',
  u: 'user',
  v: 'volume',
  w: 'workdir',
};

/** The one name of an option: letters stand for others. */
export const optionName = (key: string): string => (Object.hasOwn(longNames, key) ? longNames[key]! : key);

/** Options that are switched on or off. All others, also those that are not known here, have a value. */
const switches = new Set(
  (
    'detach disable-content-trust env-host http-proxy init interactive no-healthcheck no-hostname no-hosts oom-kill-disable ' +
    'privileged publish-all quiet read-only read-only-tmpfs replace rm rootfs sig-proxy tls-verify tty use-api-socket'
  ).split(' '),
);

export const isSwitch = (key: string): boolean => switches.has(optionName(key));

/** Options that only the agent sets, and those that have a field of their own in a deploy with a rule of its own. */
const reserved = new Set(
  (
    'attach attach-stdin cap-add-file cidfile conmon-pidfile cgroup-parent cgroups detach env env-file env-host http-proxy ' +
    'image-volume interactive log-driver log-opt mount name net network no-healthcheck passwd pidfile preserve-fds privileged ' +
    'publish publish-all pull quiet replace rm rootfs sdnotify sig-proxy systemd tty use-api-socket volume volume-driver volumes-from'
  ).split(' '),
);

/** The keys that no deploy may use whatever the operator says, or does not need to. */
export const isReservedParameter = (key: string): boolean => reserved.has(optionName(key));

/** Options that reach nothing beside the container itself. */
export const harmlessParameters: readonly string[] = [
  'entrypoint',
  'h',
  'hostname',
  'init',
  'read-only',
  'stop-signal',
  'w',
  'workdir',
];
