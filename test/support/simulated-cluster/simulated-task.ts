import type { ShellCommandOrder } from '../../../src/cluster/cluster-driver.js';
import type { TaskState } from '../../../src/core/model/enums.js';
import type { LaunchSpec } from '../../../src/core/model/launch.js';
import type { TaskScript } from './script.js';

export interface RunningTask {
  spec: LaunchSpec;
  script: TaskScript;
  startedAt: number;
}

/** A task of a simulated agent. */
export interface SimulatedTask extends RunningTask {
  state: TaskState;
  /** Virtual time at which a kill ends it; Infinity: none is under way. */
  killedAt: number;
  commands: Set<ShellCommandOrder>;
  /** Without any grace. */
  killedByForce?: boolean;
  /** By name, how often each was started. */
  sidecarStarts?: Map<string, number>;
}
