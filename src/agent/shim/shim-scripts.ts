import { join } from 'node:path';
import { readIfThere, writeDurably } from '../files.js';

/**
 * Runs one task and writes its exit status down, even when the agent is gone by then. It leads a session of its own.
 *
 *     shim.sh <trampoline.sh> <control folder> ...
 *
 * Its signal handlers do nothing: unlike ignored signals, handled ones are back to their defaults in the task. The task
 * runs in the foreground, because a shell lets its background jobs ignore INT and QUIT.
 */
const shim = `#!/bin/sh
trap : TERM INT HUP QUIT
control=$2
exec 2>>"$control/shim.log"
/bin/sh "$@"
status=$?
printf '%s\\n' "$status" >"$control/exit.new" && command -p mv -f "$control/exit.new" "$control/exit"
exit "$status"
`;

/**
 * Puts itself under the task's limits, says who it is, and becomes the task's program: the words begin with those that
 * change the user and those of the launcher, which reads the task's variables from file 3. Nothing else of what is open
 * reaches the program.
 *
 *     trampoline.sh <control folder> <processes or ''> <blocks of a file or ''> <n> <n cgroup.procs files> <words...>
 *
 * Linking "task" decides whether this task starts: an agent that has given it up has taken the name before.
 */
const trampoline = `#!/bin/sh
control=$1 processes=$2 blocks=$3 groups=$4
shift 4
while [ "$groups" -gt 0 ]; do
  echo $$ >"$1" || exit 125
  shift
  groups=$((groups - 1))
done
IFS= read -r me </proc/$$/stat && IFS= read -r shim </proc/$PPID/stat || exit 125
printf '%s\\n%s\\n' "$me" "$shim" >"$control/task.new" || exit 125
command -p ln "$control/task.new" "$control/task" || exit 125
for file in /proc/$$/fd/[3-9]; do
  [ -e "$file" ] && eval "exec \${file##*/}>&-"
done
[ -z "$blocks" ] || ulimit -f "$blocks" || exit 125
# Shells differ in the letter. Both mean the processes and threads of the user.
[ -z "$processes" ] || if [ -n "\${BASH_VERSION-}\${KSH_VERSION-}" ]; then
  ulimit -u "$processes"
else
  ulimit -p "$processes"
fi || exit 125
exec "$@" </dev/null 3<"$control/launcher"
`;

/**
 * Start script of tasks with executorData. Its own output goes to executor.bash.log, that of the command to the service log.
 *
 *     runner.sh <task folder> <service log> <open files or ''> <command line>
 */
export const runner = `muster_task=$1 muster_log=$2 muster_files=$3 muster_command=$4
cd "$muster_task" || exit 125
for muster_file in /etc/profile.d/*.sh; do
  [ -r "$muster_file" ] && . "$muster_file"
done
. "$muster_task/deploy.env"
cd "$muster_task/app" || exit 125
for muster_file in .profile.d/*; do
  [ -f "$muster_file" ] && . "./$muster_file"
done
[ -z "$muster_files" ] || ulimit -S -n "$muster_files" || exit 125
exec >>"$muster_log" 2>&1
eval "exec $muster_command"
`;

export interface ShimScripts {
  shim: string;
  trampoline: string;
}

/** Puts the scripts where /bin/sh finds them. Tasks that run already have opened theirs: it is replaced, not rewritten. */
export async function installShimScripts(folder: string): Promise<ShimScripts> {
  const scripts = { shim: join(folder, 'shim.sh'), trampoline: join(folder, 'trampoline.sh') };
  await replaceFile(scripts.shim, shim);
  await replaceFile(scripts.trampoline, trampoline);
  return scripts;
}

async function replaceFile(path: string, text: string): Promise<void> {
  if ((await readIfThere(path)) !== text) await writeDurably(path, text, 0o755);
}
