import { parseArgs } from 'node:util';
import { messageOf } from '../platform/files.js';
import { closeInherited } from '../agent/processes/descriptors.js';
import { guardAgainstHangs } from '../agent/processes/hang-guard.js';
import { ownLog } from '../agent/own-log.js';
import { runPodAgent } from './pod-agent.js';
import { readPodAgentSettings } from './pod-agent-settings.js';

const usage = 'usage: node main.js --node <name> [--config <file>]';
const hangSeconds = 30;
const log = ownLog();

async function main() {
  const { values } = parseArgs({ options: { node: { type: 'string' }, config: { type: 'string' } } });
  if (!values.node) throw new Error(usage);
  const settings = readPodAgentSettings(values.config);
  const agent = await runPodAgent(values.node, settings, log);
  guardAgainstHangs(settings.root, hangSeconds);
  return agent;
}

try {
  closeInherited();
  const agent = await main();
  // Pods are not the agent's to end: they run on.
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.once(
      name,
      () =>
        void agent.stop().then(
          () => process.exit(0),
          (cause: unknown) => {
            log.error('The agent did not stop in order', cause);
            process.exit(1);
          },
        ),
    );
} catch (cause) {
  log.error(messageOf(cause));
  process.exit(1);
}
