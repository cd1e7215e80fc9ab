import { stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';

const beatMillis = 1_000;

/**
 * Ends this process when it has hung for so long: when its event loop, or the threads that do its file system calls, have
 * answered nothing. Its supervisor starts it anew, and the tasks run on. A hung process could not end itself, so a
 * thread counts the beats that do not come; it counts its own ticks and not the clock, for a machine that slept has not hung.
 */
export function guardAgainstHangs(directory: string, seconds: number): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  let isAsking = false;
  const beat = async () => {
    if (isAsking) return;
    isAsking = true;
    // Whatever it answers, a thread did. What answers late counts when it comes.
    await stat(directory).catch(() => undefined);
    isAsking = false;
    Atomics.add(beats, 0, 1);
  };
  setInterval(() => void beat(), beatMillis).unref();
  const guard = new Worker(countTicks, {
    eval: true,
    workerData: { beats, seconds, beatMillis },
    execArgv: [],
    stdin: false,
  });
  guard.on('error', (cause) => {
    throw cause;
  });
  guard.unref();
}

/** Runs in the thread. It writes nothing: what hangs may be the place that lines go to. */
const countTicks = `
const { workerData: { beats, seconds, beatMillis } } = require('node:worker_threads');
let seen = -1;
let silentTicks = 0;
setInterval(() => {
  const now = Atomics.load(beats, 0);
  silentTicks = now === seen ? silentTicks + 1 : 0;
  seen = now;
  if (silentTicks * beatMillis >= seconds * 1000) process.kill(process.pid, 'SIGKILL');
}, beatMillis);
`;
