import { runChaos } from '../../chaos/chaos.js';
import { interruption } from '../../chaos/main.js';
import { chaosOptions } from '../../chaos/options.js';
import { resultLine, tellResult } from '../../chaos/report.js';

/** The agent is cut off for shorter and for longer than its time, clocks are ten minutes apart, all cores are busy. */
const faults = [
  'leader_kill9',
  'agent_cut_short',
  'leader_kill9',
  'agent_cut_long',
  'agent_mute_long',
  'agent_deaf_long',
  'clock_leader_behind',
  'clock_leader_ahead',
  'clock_agent_behind',
  'clock_database_ahead',
  'busy',
  'leader_kill9',
];

/** Takes `--machines <n>` out of the arguments. */
export function machinesOf(argv: string[]): { machines: number; rest: string[] } {
  const at = argv.indexOf('--machines');
  if (at < 0) return { machines: 12, rest: argv };
  const machines = Number(argv[at + 1]);
  if (!Number.isInteger(machines) || machines < 0) throw new Error('--machines: it has to be a number of machines');
  return { machines, rest: argv.toSpliced(at, 2) };
}

/** Two schedulers and one agent with several machines. Answers the exit code. */
export async function runWithMachines(machines: number): Promise<number> {
  const options = chaosOptions({
    minutes: 0,
    faults,
    slaves: machines,
    schedulers: 2,
    workers: 0,
    reregister: 30,
    crons: 6,
  });
  const interrupted = interruption();
  const result = await runChaos(options, console.error, interrupted);
  tellResult(result, console.log);
  console.log(resultLine('failover with machines', options, result));
  return result.good && !interrupted.aborted ? 0 : 1;
}
