import type { ProgramOfLaunch, LaunchSpec } from '../../core/model/launch.js';
import { programVariable } from '../../agent/processes/processes.js';
import { outputsOf } from '../../agent/sandbox/sandbox-layout.js';
import { launcherLiteral } from '../../agent/shim/launcher.js';
import { containerResources, literal, wholeSeconds } from './container-values.js';
import { annotations } from './names.js';
import type { Container, Pod } from './objects.js';

/*
 * The programs around the main one of a task are containers of its pod, and each writes to files of its own in the sandbox. Kubernetes
 * starts init containers in their order, and ends those that are restarted always, its sidecars, in the opposite order after the main
 * container. It has none that run last: the post steps are one sidecar, the first to start, that does nothing until it is told to end.
 */

const prefixes = { INIT: 'init-', SIDECAR: 'sidecar-' } as const;
export const postContainerName = 'post';

/** Role and name of the program in a container; undefined: it is none of them, or that of all post steps. */
export function programOfContainer(name = ''): { role: 'INIT' | 'SIDECAR'; name: string } | undefined {
  for (const role of ['INIT', 'SIDECAR'] as const)
    if (name.startsWith(prefixes[role])) return { role, name: name.slice(prefixes[role].length) };
  return undefined;
}

/** Where a container says what the kubelet is to remember of it. */
const messageFile = '/dev/termination-log';
/** Said by a step that took too long. */
export const lateMessage = 'late';

/** Time for which a sidecar's container lives at least: a kubelet goes on to the next only when it has seen it run. */
const seenSeconds = 3;

/**
 * Runs its arguments with the output in files. Before them come the names of these files, the longest run in seconds (0: any), and the
 * time for which the container lives at least. It is the first process of its container, and so hands on the signal that it gets. A copy of
 * a shell that has not become its program yet would lose one: none is handed on before a second is over.
 */
const oneProgram = `exec >>"$1" 2>>"$2" || exit 125
limit=$3 isOver= begun=
trap 'isOver=1; [ -z "$begun" ] || tell' TERM
tell() {
  wait "$begun"
  kill -TERM "$program" 2>/dev/null
}
sleep "$4" &
least=$!
shift 4
"$@" &
program=$!
sleep 1 &
begun=$!
[ -z "$isOver" ] || tell
[ "$limit" = 0 ] || (
  sleep "$limit"
  printf ${lateMessage} >${messageFile}
  kill -KILL "$program"
) >/dev/null 2>&1 &
while :; do
  wait "$program"
  status=$?
  kill -0 "$program" 2>/dev/null || break
done
[ -z "$isOver" ] || {
  wait "$program" 2>/dev/null
  last=$?
  [ "$last" = 127 ] || [ "$last" -lt 0 ] || status=$last
}
[ -n "$isOver" ] || wait "$least"
exit "$status"`;

/**
 * Waits until it is told to end, by when all other containers have ended, and runs the steps: lines of `step`. Its message has a line
 * for each: name and exit code.
 */
const postScript = (steps: string) => `isOver= nap=
trap 'isOver=1; kill -KILL "$nap" 2>/dev/null' TERM
while [ -z "$isOver" ]; do
  sleep 3600 &
  nap=$!
  [ -n "$isOver" ] || wait "$nap"
done
kill -KILL "$nap" 2>/dev/null
trap '' TERM
step() {
  name=$1 limit=$2
  shift 2
  (
    trap - TERM
    exec "$@"
  ) >>"$name.stdout" 2>>"$name.stderr" &
  program=$!
  (
    sleep "$limit"
    kill -0 "$program" || exit
    printf '%s ${lateMessage}\\n' "$name" >>${messageFile}
    kill -KILL "$program"
  ) >/dev/null 2>&1 &
  timer=$!
  wait "$program"
  printf '%s %s\\n' "$name" $? >>${messageFile}
  kill -KILL "$timer"
}
${steps}
exit 0`;

/** The pod with the programs around its main one. The resources of that container are those of the task without those of sidecars. */
export function withPrograms(pod: Pod, { programs }: LaunchSpec): Pod {
  const [main] = pod.spec?.containers ?? [];
  if (!programs || !main) return pod;
  const { init, sidecars, post } = programs;
  const like = containerLike(main);
  const steps = init.map((program): Container => ({
    ...like(program, `${prefixes.INIT}${program.name}`),
    command: runningOne(program, wholeSeconds(program.timeoutMillis), 0),
    resources: main.resources,
  }));
  const beside = sidecars.map((program): Container => ({
    ...like(program, `${prefixes.SIDECAR}${program.name}`),
    command: runningOne(program, 0, seenSeconds),
    resources: containerResources(program),
    restartPolicy: 'Always',
  }));
  const last = post.length > 0 ? [postContainer(like, main, post)] : [];
  const postSeconds = post.reduce((sum, step) => sum + wholeSeconds(step.timeoutMillis), 0);
  const grace = Number(pod.spec?.['terminationGracePeriodSeconds'] ?? 0) + postSeconds;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      annotations: {
        ...pod.metadata?.annotations,
        ...(postSeconds > 0 && { [annotations.postSeconds]: String(postSeconds) }),
      },
    },
    spec: {
      ...pod.spec,
      terminationGracePeriodSeconds: grace,
      // Post steps come before sidecars, and so end after them; after init steps, and so not at all when one of those fails.
      initContainers: [...steps, ...last, ...beside],
    },
  };
}

/** Resources of the main program, which has those of the task without the parts of sidecars. */
export const shareOfMain = <S extends Pick<LaunchSpec, 'cpus' | 'memoryMb' | 'programs'>>(spec: S): S => {
  const sidecars = spec.programs?.sidecars ?? [];
  if (sidecars.length === 0) return spec;
  const sum = (member: 'cpus' | 'memoryMb') => sidecars.reduce((total, each) => total + each[member], 0);
  return {
    ...spec,
    cpus: Math.max(0, spec.cpus - sum('cpus')),
    memoryMb: Math.max(0, spec.memoryMb - sum('memoryMb')),
  };
};

type Like = (program: Pick<ProgramOfLaunch, 'name' | 'environment'>, name: string) => Container;

/** Image, user, files and variables of the main container, and none of its ports and probes. */
const containerLike =
  ({ image, imagePullPolicy, workingDir, securityContext, volumeMounts, env }: Container): Like =>
  ({ name: program, environment }, name) => ({
    name,
    image,
    imagePullPolicy,
    workingDir,
    securityContext,
    volumeMounts,
    terminationMessagePolicy: 'File',
    env: variablesOf(env, { ...environment, [programVariable]: program }),
  });

/** By name, the later ones win. Those of secrets have a source in place of a value. */
function variablesOf(ofMain: unknown, own: Record<string, string>): { name: string }[] {
  const all = new Map((ofMain as { name: string }[]).map((variable) => [variable.name, variable]));
  for (const [name, value] of Object.entries(own)) all.set(name, variableOf(name, value));
  return [...all.values()];
}

const variableOf = (name: string, value: string) => ({ name, value: literal(value) });

/** Its memory is that of the main program, which has ended by then; until then it takes nothing. */
function postContainer(
  like: Like,
  { resources }: Container,
  post: readonly (ProgramOfLaunch & { timeoutMillis: number })[],
): Container {
  const steps = post.map((step) => {
    const own = Object.entries(step.environment).map(([name, value]) => `${name}=${value}`);
    const words = [...(own.length > 0 ? ['env', ...own] : []), ...wordsOf(step)];
    return `step ${[step.name, String(wholeSeconds(step.timeoutMillis)), ...words].map(launcherLiteral).join(' ')}`;
  });
  return {
    ...like({ name: postContainerName, environment: {} }, postContainerName),
    command: ['/bin/sh', '-c', postScript(steps.join('\n'))].map(literal),
    resources: { requests: { cpu: '0', memory: '0' }, limits: resources?.limits },
    restartPolicy: 'Always',
  };
}

const runningOne = (program: ProgramOfLaunch, mostSeconds: number, leastSeconds: number): string[] =>
  [
    '/bin/sh',
    '-c',
    oneProgram,
    'sh',
    ...outputsOf(program),
    String(mostSeconds),
    String(leastSeconds),
    ...wordsOf(program),
  ].map(literal);

const wordsOf = ({ command: { shell, value, arguments: words } }: ProgramOfLaunch): string[] => [
  ...(shell ? ['/bin/sh', '-c', value, 'sh'] : [value]),
  ...words,
];
