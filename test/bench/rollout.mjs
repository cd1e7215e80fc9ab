// Services behind real proxies (nginx, HAProxy) are deployed, deployed with a broken second step, bounced, replaced by liveness checks,
// deployed through gates that pass and that fail, scaled, autoscaled and killed, while load tools in processes of their own call them all
// the time: how many calls failed in each phase. Then with deployStrategy OLD_FIRST, and how many tasks were missing at most.
// --rate 200: calls per second.
import '../support/ts-register.mjs';

const { recordRollout } = await import('./rollout/record.ts');
process.exitCode = await recordRollout(process.argv.slice(2));
