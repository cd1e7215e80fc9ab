// A day of 1,000 requests on 500 simulated machines, with random faults and fail-overs of the scheduler, on the real
// scheduler and a real PostgreSQL. --hours, --requests, --machines and --seed make another day of it.
import '../support/ts-register.mjs';

const { runDay } = await import('../simulation/run-day.ts');
process.exitCode = await runDay(process.argv.slice(2));
