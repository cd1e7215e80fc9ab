import type { LaunchSpec } from '../../core/model/launch.js';
import { wholeSeconds } from './container-values.js';

/**
 * Runs the line $1, if there is one, and waits for it for at most $2 seconds, after which its shell is killed. Then it sends the signal $3, if there is one, to the main program of its
 * container, and waits for its end: a kubelet sends its own signal when the hook is over. Processes that a runtime has started in a
 * container have no parent there, and the main program is the oldest of them. The cgroups tell its container from others of the pod.
 * A runtime waits for all who hold the output of a hook: it goes nowhere.
 */
const stopScript = `exec >/dev/null 2>&1
if [ -n "$1" ]; then
  /bin/sh -c "$1" &
  line=$!
  (
    isOver= nap=
    trap 'isOver=1; kill -KILL "$nap"' TERM
    sleep "$2" &
    nap=$!
    [ -n "$isOver" ] && kill -KILL "$nap"
    wait "$nap" && kill -KILL "$line"
    wait "$nap"
  ) &
  timer=$!
  wait "$line"
  kill "$timer"
  wait "$timer"
fi
[ -n "$3" ] || exit 0
signal=$3
inOneLine() {
  while read -r part; do printf '%s ' "$part"; done <"$1"
}
own=$(inOneLine /proc/self/cgroup)
main=
for directory in /proc/[0-9]*; do
  pid=\${directory#/proc/}
  [ "$pid" != $$ ] && [ "$(inOneLine "$directory/cgroup")" = "$own" ] || continue
  stat=$(inOneLine "$directory/stat")
  set -- \${stat##*) }
  [ "$2" = 0 ] || continue
  [ -n "$main" ] && [ "\${20}" -ge "$since" ] && continue
  main=$pid since=\${20}
done
[ -n "$main" ] && kill -s "$signal" "$main" || exit
while [ -d "/proc/$main" ]; do sleep 1; done`;

/** Words of the hook by which a pod runs what its deploy names before the end; undefined: the kubelet does it by itself. */
export function stopWords({ preStop, killSignal, container }: LaunchSpec): string[] | undefined {
  // An image may name another signal than SIGTERM, which a deploy that names SIGTERM does not want. Muster's own names none.
  const isOwn = killSignal !== undefined && (killSignal !== 'SIGTERM' || container !== undefined);
  const signal = isOwn && !preStop?.http ? killSignal.slice('SIG'.length) : '';
  const line = preStop?.command ?? '';
  if (line === '' && signal === '') return undefined;
  return ['/bin/sh', '-c', stopScript, 'sh', line, String(wholeSeconds(preStop?.timeoutMillis ?? 0)), signal];
}
