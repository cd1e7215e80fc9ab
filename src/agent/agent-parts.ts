import type { AgentContext } from './agent-context.js';
import type { Epochs } from './epochs.js';
import type { Launcher } from './launch.js';
import type { Machines } from './machines.js';
import type { Tasks } from './tasks.js';
import type { Tombstones } from './tombstones.js';

/** What answers calls. */
export interface AgentParts {
  context: AgentContext;
  tasks: Tasks;
  tombstones: Tombstones;
  epochs: Epochs;
  launcher: Launcher;
  machines: Machines;
  /** Ends the agent after the answer is out. */
  shutdown(): void;
}
