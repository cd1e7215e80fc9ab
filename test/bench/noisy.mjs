// Run-now to process of one tenant, alone and beside another one who does everything that its ordinary token allows at the highest rate.
// The built product as real processes: scheduler, embedded PostgreSQL, agent, tasks; authentication on, limits at their defaults. Who
// loads is a process of its own with a lower priority (--nice 10), as if it were on another machine; it shares the cores all the same, so
// the quiet tenant is measured once more while the same calls go to a server that does nothing (the control). Linux.
//
//   npm run bench:noisy                                        5 minutes beside the noisy tenant
//   npm run bench:noisy -- --minutes 0.5 --cost-seconds 0      no accounting by kind of call
//   npm run bench:noisy -- --only runs,lists --minutes 0.5     the noisy tenant does these only
//   npm run bench:noisy -- --product ../earlier                another built tree, to compare
import '../support/ts-register.mjs';

const { measureNoise } = await import('./noisy/run.ts');
process.exitCode = await measureNoise(process.argv.slice(2));
