// A service behind a real proxy (nginx) is deployed, deployed with a broken second step, bounced, scaled, autoscaled and killed, while a
// load tool in a process of its own calls it all the time: how many calls failed.
// --rate 200: calls per second.
import '../support/ts-register.mjs';

const { recordRollout } = await import('./rollout/record.ts');
process.exitCode = await recordRollout(process.argv.slice(2));
