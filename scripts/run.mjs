import { spawn } from 'node:child_process';
import { processStart } from './process-start.mjs';

/** Something the person at the terminal can put right: the message is all that is shown. */
export class SetupError extends Error {}

/**
 * Runs a Node program and collects what it prints. While it runs it counts as an owner of the lock: should we be killed,
 * no other process begins again before it has ended. A signal to us ends it too.
 */
export async function nodeProgram(args, { cwd, owner, env = process.env }) {
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  owner?.add({ pid: child.pid, startedAt: processStart(child.pid) });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const passOn = (signal) => {
    child.kill(signal);
    child.once('close', () => process.exit(1));
  };
  for (const signal of signals) process.on(signal, passOn);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve(exitCode ?? 1));
  });
  for (const signal of signals) process.off(signal, passOn);
  return { code, output };
}
