import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Log } from './agent-context.js';
import { runAgent, type RunningAgent } from './agent.js';
import { messageOf } from './files.js';
import { closeInherited } from './machine/descriptors.js';

/** Lines on stdout and stderr: the process that starts the agent decides where they go. */
const log: Log = {
  info: (message) => console.log(`agent: ${message}`),
  warn: (message) => console.warn(`agent: ${message}`),
  error: (message, cause) => console.error(`agent: ${message}`, cause ?? ''),
};

const usage = 'usage: node main.js --data-dir <folder> [--config <json file with the settings under cluster.local>]';

async function main(): Promise<RunningAgent> {
  const { values } = parseArgs({ options: { 'data-dir': { type: 'string' }, config: { type: 'string' } } });
  const dataDir = values['data-dir'];
  if (!dataDir) throw new Error(usage);
  const settings: unknown = values.config ? JSON.parse(readFileSync(values.config, 'utf8')) : undefined;
  return runAgent({ folder: join(dataDir, 'agent'), settings, log });
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
