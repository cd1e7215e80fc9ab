import { fstatSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { inspect, parseArgs } from 'node:util';
import type { Log } from './agent-context.js';
import { runAgent, type RunningAgent } from './agent.js';
import { messageOf } from './files.js';
import { closeInherited } from './machine/descriptors.js';
import { guardAgainstHangs } from './machine/hang-guard.js';
import { readLocalClusterSettings } from './settings.js';

/**
 * Lines on stdout and stderr: the process that starts the agent decides where they go. A line that cannot be written, for a
 * full disk or a reader that has gone, is lost, and the agent goes on.
 */
const log: Log = {
  info: (message) => say(process.stdout, message),
  warn: (message) => say(process.stderr, message),
  error: (message, cause) => say(process.stderr, cause === undefined ? message : `${message} ${inspect(cause)}`),
};
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

/** A reader that is stuck does not make the agent keep all that it ever said. */
const mostUnread = 1024 * 1024;

function say(stream: NodeJS.WriteStream & { fd: number }, message: string): void {
  const line = `agent: ${message}\n`;
  // A stream on a file does not recover from a failure, and keeps all further lines in memory.
  if (!isFile(stream.fd)) return void (stream.writableLength < mostUnread && stream.write(line));
  try {
    writeSync(stream.fd, line);
  } catch {
    // Nothing can be said about it.
  }
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false;
  }
}

const usage = 'usage: node main.js --data-dir <folder> [--config <json file with the settings under cluster.local>]';

async function main(): Promise<RunningAgent> {
  const { values } = parseArgs({ options: { 'data-dir': { type: 'string' }, config: { type: 'string' } } });
  const dataDir = values['data-dir'];
  if (!dataDir) throw new Error(usage);
  const settings: unknown = values.config ? JSON.parse(readFileSync(values.config, 'utf8')) : undefined;
  const folder = join(dataDir, 'agent');
  const agent = await runAgent({ folder, settings, log });
  guardAgainstHangs(folder, readLocalClusterSettings(settings).agentHangSeconds);
  return agent;
}

try {
  closeInherited();
  const agent = await main();
  // Tasks are not the agent's children to end: they run on, and the next agent takes them up.
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => void agent.stop());
  await agent.stopped;
  process.exit(0);
} catch (cause) {
  log.error(messageOf(cause));
  process.exit(1);
}
