import type { AgentContext } from '../agent-context.js';
import { messageOf } from '../../platform/files.js';
import { commandLine } from '../processes/command-line.js';
import { agentLabel, containerName } from './container-words.js';
import { askEngine, type EngineWatch } from './engine.js';
import { removal } from './task-container.js';

interface Context extends Pick<AgentContext, 'settings' | 'directory' | 'log' | 'stopping'> {
  engines: EngineWatch;
}

interface LiveTasks {
  live(): readonly { spec: { taskId: string } }[];
}

const listMillis = 30_000;

/**
 * Containers that an agent on this directory has created and of which no task is left: it was killed before it could remove them,
 * or the engine hung. Beside all other work: the engine may hang again.
 */
export async function removeForgottenContainers(context: Context, tasks: LiveTasks): Promise<void> {
  const { engines, settings, directory, log, stopping } = context;
  const engine = await engines.engine();
  if (typeof engine === 'string') return;
  const ask = (...command: string[]) => askEngine(engine, command, { timeoutMillis: listMillis, signal: stopping });
  try {
    const ofThisAgent = ['filter', `label=${agentLabel}=${directory.key}`] as const;
    const listed = await ask('ps', ...commandLine([['all', true], ofThisAgent, ['format', '{{.Names}}']]));
    const { dockerPrefix } = settings.containers;
    const live = new Set(tasks.live().map(({ spec }) => containerName(dockerPrefix, spec.taskId)));
    const forgotten = listed.split('\n').filter((name) => name !== '' && !live.has(name));
    if (forgotten.length === 0) return;
    log.warn(`Removing ${forgotten.length} containers of ended tasks`);
    await ask('rm', ...commandLine(removal, forgotten));
  } catch (cause) {
    engines.noteLeftBehind();
    if (!stopping.aborted) log.warn(`Could not remove containers of ended tasks: ${messageOf(cause)}`);
  }
}
