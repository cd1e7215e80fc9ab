// Two schedulers on one database under load, and what happens when the leader is killed, frozen or cut off.
// --stop-seconds 60: how long it is frozen. --cut-seconds 10: how long it is cut off. --faults 2: only so many, from the first on.
// MUSTER_HTTP_WORKERS=1: schedulers with API workers.
import '../support/ts-register.mjs';

const { runFailovers } = await import('./failover/run.ts');
process.exitCode = await runFailovers(process.argv.slice(2));
