import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runAgent, type RunningAgent } from './agent.js';
import { messageOf } from '../platform/files.js';
import { closeInherited } from './processes/descriptors.js';
import { guardAgainstHangs } from './processes/hang-guard.js';
import { ownLog } from './own-log.js';
import { readLocalClusterSettings } from './settings.js';

const log = ownLog();
const usage = 'usage: node main.js --data-dir <folder> [--config <json file with the settings under cluster.local>]';

async function main(): Promise<RunningAgent> {
  const { values } = parseArgs({ options: { 'data-dir': { type: 'string' }, config: { type: 'string' } } });
  const dataDir = values['data-dir'];
  if (!dataDir) throw new Error(usage);
  const settings: unknown = values.config ? JSON.parse(readFileSync(values.config, 'utf8')) : undefined;
  const directory = join(dataDir, 'agent');
  const agent = await runAgent({ directory, settings, log });
  guardAgainstHangs(directory, readLocalClusterSettings(settings).agentHangSeconds);
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
