import { join } from 'node:path';
import { readIfThere, writeDurably } from '../../platform/files.js';
import type { LocalClusterSettings } from '../settings.js';

/**
 * Runs one task and writes its exit status down, even when the agent is gone by then. It leads a session of its own.
 *
 *     shim.sh <control directory> <processes or ''> <blocks of a file or ''> <n> <n cgroup.procs files> <words...>
 *
 * The task begins as a copy of the shim (the part in brackets), which puts itself under the task's limits, says who it is,
 * and becomes the task's program: the words begin with those that change the user and those of the launcher, which reads
 * the task's variables from file 3. Nothing else of what is open reaches the program. A copy, and no program but the
 * shell's own words, because each exec is time before the task's first instruction.
 *
 * Making "task", which must not be there, decides whether this task starts: an agent that has given it up has taken the
 * name before. What "task.new" says is complete by then. The shim's signal handlers do nothing: unlike ignored signals,
 * handled ones are back to their defaults in the task. The task runs in the foreground, because a shell lets its
 * background jobs ignore INT and QUIT.
 */
const shim = `#!/bin/sh
trap : TERM INT HUP QUIT
control=$1
exec 2>>"$control/shim.log"
(
  processes=$2 blocks=$3 groups=$4
  shift 4
  while [ "$groups" -gt 0 ]; do
    # 0 is who writes it.
    echo 0 >"$1" || exit 125
    shift
    groups=$((groups - 1))
  done
  IFS= read -r me </proc/self/stat && IFS= read -r shim </proc/$$/stat || exit 125
  printf '%s\\n%s\\n' "$me" "$shim" >"$control/task.new" || exit 125
  set -C
  true >"$control/task" || exit 125
  set +C
  for file in /proc/self/fd/[3-9]; do
    [ -e "$file" ] && eval "exec \${file##*/}>&-"
  done
  [ -z "$blocks" ] || ulimit -f "$blocks" || exit 125
  # Shells differ in the letter. Both mean the processes and threads of the user.
  [ -z "$processes" ] || if [ -n "\${BASH_VERSION-}" ]; then
    ulimit -u "$processes"
  else
    ulimit -p "$processes"
  fi || exit 125
  exec "$@" </dev/null 3<"$control/launcher"
)
status=$?
IFS=' ' read -r uptime idle </proc/uptime
printf '%s %s\\n' "$status" "$uptime" >"$control/exit"
exit "$status"
`;

/**
 * Start script of tasks with executorData. Its own output goes to executor.bash.log, that of the command to the service log.
 *
 *     runner.sh <task directory> <service log> <open files or ''> <shell> <command line>
 *
 * The line is read by a shell of its own, which sees the exported variables and nothing else of this script, and ends as the line
 * does. That shell becomes the program of a line that is one command, so that signals reach it.
 */
export const runner = ({
  extraScriptContent,
}: Pick<
  LocalClusterSettings,
  'extraScriptContent'
>): string => `muster_task=$1 muster_log=$2 muster_files=$3 muster_shell=$4 muster_command=$5
# bash sets one by itself, which no value is meant to refer to.
unset TERM
cd "$muster_task" || exit 125
for muster_file in /etc/profile.d/*.sh; do
  [ -r "$muster_file" ] && . "$muster_file"
done
. "$muster_task/deploy.env"
cd "$muster_task/app" || exit 125
for muster_file in .profile.d/*; do
  [ -f "$muster_file" ] && . "./$muster_file"
done
${extraScriptContent}
[ -z "$muster_files" ] || ulimit -S -n "$muster_files" || exit 125
exec >>"$muster_log" 2>&1
exec "$muster_shell" -c -- "$muster_command"
`;

/** Puts the shim where /bin/sh finds it. Tasks that run already have opened theirs: it is replaced, not rewritten. */
export async function installShim(directory: string): Promise<string> {
  const path = join(directory, 'shim.sh');
  if ((await readIfThere(path)) !== shim) await writeDurably(path, shim, 0o755);
  return path;
}
