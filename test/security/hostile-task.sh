#!/usr/bin/env bash
# What a hostile deployer would run as a task: each attempt prints "held <name>" or "BREACH <name>: <what was got>".
#
#   hostile-task.sh <folder of the agent> <id of the victim's task> <pid of the scheduler> <port of the scheduler> <port of the database>
#
# The test (hostile-task.test.ts) knows the names of all attempts and expects each to have held. Everything is bounded in time.
agent=$1 victim=$2 scheduler=$3 port=$4 database=$5
own=$(id -u)
here=$PWD

held() { echo "held $1"; }
breach() { echo "BREACH $1: ${*:2}" | tr '\n' ' ' | cut -c1-300; echo; }
# attempt <name> <command...>: it is a breach when the command prints anything.
attempt() {
  local name=$1 got
  shift
  got=$(timeout 20 "$@" 2>/dev/null | tr -d '\0' | head -c 200)
  if [ -z "$got" ]; then held "$name"; else breach "$name" "$got"; fi
}
# processes of other users, the kernel's left out
others() {
  local folder pid
  for folder in /proc/[0-9]*; do
    pid=${folder#/proc/}
    [ "$(stat -c %u "$folder" 2>/dev/null)" = "$own" ] || [ ! -s "$folder/cmdline" ] || echo "$pid"
  done
}

# --- who it is
is_privileged() {
  [ "$own" = 0 ] && echo "uid 0"
  [ "$(id -G)" = "$(id -g)" ] || echo "groups $(id -G)"
  grep -q '^NoNewPrivs:.*1$' /proc/self/status || echo 'new privileges are possible'
  grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb):' /proc/self/status | grep -v '0000000000000000$'
}
attempt 'is nobody in particular' is_privileged
descriptors() {
  local descriptor
  # 255 is the shell's own hold on this script; 3 is what lists them.
  for descriptor in /proc/$$/fd/*; do
    case ${descriptor##*/} in 0 | 1 | 2 | 255) ;; *) echo "$descriptor $(readlink "$descriptor")" ;; esac
  done
}
attempt 'holds no descriptor of others' descriptors
attempt 'becomes nobody else by a program' sh -c 'for as in "su -c id" "sudo -n id" "pkexec id" "newgrp root"; do $as </dev/null | grep -E "uid=0|root"; done'

# --- what lies in files
readable_below() { find "$1" -path "$here" -prune -o -type f -readable -size +0 -print 2>/dev/null | head -n 5; }
attempt 'reads no file of the agent' bash -c "$(declare -f readable_below); here='$here'; readable_below '$agent' | grep -vE '/bin/[a-z-]+\\.sh\$'"
attempt 'lists no folder of the agent' sh -c "ls '$agent' '$agent/sandboxes' '$agent/tasks' '$agent/live'"
attempt 'reads no file of the database' sh -c "cat '${agent%/agent}'/postgres*/PG_VERSION '${agent%/agent}'/postgres*/muster-access.json '${agent%/agent}'/postgres*/base/1/PG_VERSION"
attempt 'reads no secret' sh -c "cat '$agent/secret' '$agent/settings.json' '$agent/endpoint.json'"
attempt "reads nothing in the victim's sandbox" sh -c "ls '$agent/sandboxes/$victim'; cat '$agent/sandboxes/$victim/stdout' '$agent/sandboxes/$victim/private'"
attempt "writes nothing in the victim's sandbox" sh -c "echo planted >'$agent/sandboxes/$victim/planted' && echo written; rm -rf '$agent/sandboxes/$victim' && echo removed"
attempt 'writes nowhere in the data directory' sh -c "find '${agent%/agent}' -path '$here' -prune -o \\( -writable ! -type l \\) -print | head -n 5"
attempt 'writes nothing of the machine' sh -c 'for place in / /etc /usr/bin /root /var/spool/cron /dev/shm/../../etc; do touch "$place/planted" && echo "$place"; done'

# --- other processes
environments() { local pid; for pid in $(others); do tr '\0' '\n' <"/proc/$pid/environ" | grep -E 'PASSWORD|SECRET|TOKEN|DATABASE|postgres' | sed "s/^/$pid /"; done; }
attempt 'reads no environment of others' environments
insides() {
  local pid
  for pid in $(others); do
    ls "/proc/$pid/fd/" | sed "s/^/$pid fd /"
    head -c 1 "/proc/$pid/maps" "/proc/$pid/mem" | sed "s/^/$pid memory /"
    ls "/proc/$pid/cwd/" "/proc/$pid/root/" | sed "s/^/$pid folder /"
  done
}
attempt 'looks into no process of others' insides
attempt 'finds no secret on command lines' bash -c "$(declare -f others); own=$own; for pid in \$(others); do tr '\\0' ' ' </proc/\$pid/cmdline | grep -E 'victims-password|PGPASSWORD|postgres://[^ ]*:[^ ]*@'; done"
signals() { local pid; for pid in $(others); do kill -STOP "$pid" && echo "$pid stopped" && kill -CONT "$pid"; done; }
attempt 'signals nobody else' signals
attempt 'signals not the scheduler' sh -c "kill -KILL '$scheduler' && echo killed"
limits() {
  local file
  for file in $(find /sys/fs/cgroup -maxdepth 6 \( -name cgroup.procs -o -name tasks -o -name memory.max -o -name memory.limit_in_bytes -o -name pids.max -o -name cpu.max -o -name cgroup.kill \) -writable 2>/dev/null | head -n 5); do
    echo "$file"
  done
}
attempt 'changes no limit' limits

# --- programs that run for it: the environment of this task names these traps
attempt 'runs nothing in the name of others' sh -c 'ls -ln "$HOSTILE_PROOFS" | awk -v own="$(id -u)" "NR > 1 && \$3 != own"'

# --- what listens
call() { timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$1 && printf '%b' '$2' >&3 && head -c 2000 <&3" 2>/dev/null; }
attempt 'is answered nothing by the agent' bash -c "$(declare -f call); $(cat <<'PORTS'
for listener in $(awk 'NR > 1 && $4 == "0A" { split($2, at, ":"); print at[2] }' /proc/net/tcp | sort -u | head -n 200); do
  number=$((16#$listener))
  case " $SPARED " in *" $number "*) continue ;; esac
  # Tasks of other tests have these ports; an agent gets its own from the system.
  if [ "$number" -ge 20000 ] && [ "$number" -lt 30000 ]; then continue; fi
  call "$number" 'POST /launch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}' | grep -a '^HTTP/1.1 2' | sed "s/^/$number /"
done
PORTS
)"
attempt 'is answered nothing by the API' bash -c "$(declare -f call); call '$port' 'GET /api/requests HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' | grep -a '^HTTP/1.1 2'"
attempt 'is let in by no database' sh -c "command -v psql >/dev/null && PGCONNECT_TIMEOUT=5 psql -w -h 127.0.0.1 -p '$database' -U postgres -Atc 'select 1' postgres; ls '${agent%/agent}'/postgres*/.s.PGSQL* 2>/dev/null"

# --- files that are not what they seem: the agent reads some of these when it is asked, others when the task ends
for name in stdout.link:"$agent/secret" passwd.link:/etc/shadow root.link:/ sandbox.link:"$agent/sandboxes/$victim" device.link:/dev/zero environ.link:/proc/self/environ; do
  ln -s "${name#*:}" "${name%%:*}"
done
for number in 1 2 3 4 5 6 7 8; do mkfifo "pipe-$number"; done
mkdir -p deep/deep/deep && ln -s ../../.. deep/deep/deep/up && ln -s . loop
ln "$agent/secret" hard.link 2>/dev/null && breach 'links no file of others' secret || held 'links no file of others'
mknod device c 1 3 2>/dev/null && breach 'makes no device' device || held 'makes no device'

# --- more than its share
(timeout 15 bash -c 'for number in $(seq 600); do sleep 20 & done' >/dev/null 2>&1)
running=$(find /proc -maxdepth 1 -user "$own" -name '[0-9]*' 2>/dev/null | wc -l)
if [ "$running" -le 210 ]; then held 'runs no more processes than it may'; else breach 'runs no more processes than it may' "$running"; fi
echo 'all attempts made'

# The last: what is left of it after its end, and its log is a pipe then.
(setsid nohup sleep 300 >/dev/null 2>&1 &)
cp stdout report
rm -f stdout stderr
mkfifo stdout
ln -s "$agent/secret" stderr
exit 0
