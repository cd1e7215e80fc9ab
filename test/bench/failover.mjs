// Two schedulers on one database under load, and what happens when the leader is killed, frozen or cut off.
// --stop-seconds 60: how long it is frozen. --cut-seconds 10: how long it is cut off.
import '../support/ts-register.mjs';

const { runFailovers } = await import('./failover/run.ts');
process.exitCode = await runFailovers(process.argv.slice(2));
