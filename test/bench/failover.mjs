// Two schedulers on one database under load, and what happens when the leader is killed, frozen or cut off.
// --stop-seconds 60: how long it is frozen. --cut-seconds 10: how long it is cut off. --faults 2: only so many, from the first on.
// After that an agent with --machines 12 is cut off, clocks are wrong and the machine is busy; --machines 0: not.
// MUSTER_HTTP_WORKERS=1: schedulers with API workers.
import '../support/ts-register.mjs';

const { runFailovers } = await import('./failover/run.ts');
const { machinesOf, runWithMachines } = await import('./failover/machines.ts');
const { machines, rest } = machinesOf(process.argv.slice(2));
process.exitCode = (await runFailovers(rest)) || (machines > 0 ? await runWithMachines(machines) : 0);
