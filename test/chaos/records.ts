import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Seconds since the machine was started: one clock for tasks and for this program, which no fault of a clock changes. */
export const uptime = (): number => Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);

/** A line that a process of a task has written about itself. */
export interface Mark {
  what: 'start' | 'end';
  at: number;
  taskId: string;
  /** Id of the run; '-': the task is none that was asked for by an id. */
  run: string;
  pid: number;
}

/** A service task's place: two live processes of one place are one too many. */
export interface Place {
  requestId: string;
  deployId: string;
  instanceNo: number;
}

/** Ids of requests and deploys of this program contain no '-', so the id of a task can be read from the left. */
export function placeOf(taskId: string): Place {
  const [requestId = '', deployId = '', , instanceNo] = taskId.split('-');
  return { requestId, deployId, instanceNo: Number(instanceNo) };
}

/** The file outside of the cluster in which tasks note their starts and ends. Nothing of the product writes or reads it. */
export class Records {
  readonly marks: Mark[] = [];
  private readonly file: string;
  private offset = 0;
  private rest = '';

  constructor(folder: string) {
    mkdirSync(folder);
    // Each task has a user of its own.
    chmodSync(folder, 0o777);
    this.file = join(folder, 'marks');
    writeFileSync(this.file, '');
    chmodSync(this.file, 0o666);
  }

  /** Shell text after which `say start` and `say end` add a line: one write each, so that lines of several processes stay whole. */
  get shell(): string {
    return `say() { read -r up rest < /proc/uptime; echo "$1 $up $TASK_ID \${RUN:--} $$" >> ${this.file}; }`;
  }

  /** Takes in what was written since the last time. */
  read(): readonly Mark[] {
    const file = openSync(this.file, 'r');
    const buffer = Buffer.alloc(1 << 16);
    for (let length; (length = readSync(file, buffer, 0, buffer.length, this.offset)) > 0; this.offset += length)
      this.rest += buffer.toString('latin1', 0, length);
    closeSync(file);
    const lines = this.rest.split('\n');
    this.rest = lines.pop()!;
    for (const line of lines) {
      const [what, at, taskId = '', run = '', pid] = line.split(' ');
      this.marks.push({ what: what as Mark['what'], at: Number(at), taskId, run, pid: Number(pid) });
    }
    return this.marks;
  }
}
