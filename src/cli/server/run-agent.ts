import { join } from 'node:path';
import { AgentCannotStart, runAgent as runAgentOn } from '../../agent/agent.js';
import { closeInherited } from '../../agent/processes/descriptors.js';
import { settingsOfAgent } from '../../agent/settings.js';
import { StartError } from '../../platform/errors.js';
import { PinoLogger } from '../../platform/logging/log.js';
import { logStoreOf } from '../../platform/settings/log-store-settings.js';
import type { Settings } from '../../platform/settings/settings.js';

/** The agent alone, in this process. Its tasks run on when it stops. Answers the exit code. */
export async function runAgent(settings: Settings): Promise<number> {
  const logger = new PinoLogger(settings.log);
  try {
    closeInherited();
    const agent = await runAgentOn({
      directory: join(settings.dataDir, 'agent'),
      settings: settingsOfAgent(settings, logStoreOf(settings)),
      log: {
        info: (message) => logger.log(message, 'Agent'),
        warn: (message) => logger.warn(message, 'Agent'),
        error: (message, cause) => logger.error(message, cause, 'Agent'),
      },
    });
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void agent.stop());
    await agent.stopped;
    return 0;
  } catch (cause) {
    throw cause instanceof AgentCannotStart ? new StartError(cause.message) : cause;
  }
}
