import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** Start of a process, as text to compare: a pid alone is given away again. undefined: it does not run. */
export function processStart(pid) {
  if (!existsSync('/proc/self/stat')) {
    const answer = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
    return answer === '' || answer.startsWith('Z') ? undefined : answer.replace(/^\S+\s+/, '');
  }
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
