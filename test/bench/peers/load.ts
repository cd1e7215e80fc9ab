import { fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export interface Load {
  origin: string;
  method: string;
  path: string;
  body: string;
  /** Number of requests; their numbers begin with 0. */
  requests: number;
  connections: number;
  seconds: number;
}

export interface Answered {
  calls: number;
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  failed: number;
}

export interface LoadGenerator {
  name: string;
  fire(load: Load): Promise<Answered>;
  close(): Promise<void>;
}

/** wrk costs a tenth of what autocannon does, on the cores of what is measured. */
export function openLoadGenerator(): LoadGenerator {
  const { error, stdout } = spawnSync('wrk', ['-v'], { encoding: 'utf8' });
  return error ? withAutocannon() : withWrk(stdout.split(' [')[0]!);
}

function withWrk(name: string): LoadGenerator {
  const script = fileURLToPath(new URL('load.lua', import.meta.url));
  const ending = new AbortController();
  let runs = 0;
  const fire = async ({ origin, method, path, body, requests, connections, seconds }: Load): Promise<Answered> => {
    const flags = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '60s', '-s', script, origin];
    const own = `${process.pid}-${++runs}`;
    const wrk = spawn('wrk', [...flags, '--', method, path, body, String(requests), own], {
      stdio: ['ignore', 'pipe', 'inherit'],
      signal: ending.signal,
    });
    const told = await text(wrk.stdout);
    const line = told.trimEnd().split('\n').at(-1)!;
    if (!line.startsWith('{')) throw new Error(`wrk: ${told}`);
    const { seconds: took, ...answered } = JSON.parse(line) as Omit<Answered, 'perSecond'> & { seconds: number };
    return { ...answered, perSecond: answered.calls / took };
  };
  return { name, fire, close: async () => ending.abort() };
}

function withAutocannon(): LoadGenerator {
  const caller = fork(fileURLToPath(new URL('../support/load.mjs', import.meta.url)));
  const fire = async (load: Load): Promise<Answered> => {
    caller.send({ ...load, body: load.body || undefined });
    return (await once(caller, 'message'))[0] as Answered;
  };
  return { name: 'autocannon', fire, close: async () => caller.disconnect() };
}
