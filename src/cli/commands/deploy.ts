import { exitCodes } from '../exit-codes.js';
import { remote } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { fileOption, wholeNumber } from '../words.js';
import { apply } from './apply.js';
import { awaitDeploy } from './deploy-progress.js';
import { tellPlan } from './tell-plan.js';

/** From files to tasks. */
export const deploy: Record<string, Define> = { apply, deploy: deployFiles, plan, rollback };

export interface WaitFlags {
  wait?: boolean;
  waitFor?: string;
}
export const waitOptions = [
  ['-w, --wait', 'wait until the deploy has ended, and show its progress'],
  ['--wait-for <time>', 'longest wait, such as 10m; the deploy goes on after it (1h)'],
] as const;

interface DeployFlags extends WaitFlags {
  file: string[];
  message?: string;
  acknowledge?: boolean;
  checkIndex?: string;
}

function deployFiles(...[command, run]: Parameters<Define>): void {
  command
    .requiredOption(...fileOption)
    .option(...waitOptions[0])
    .option(...waitOptions[1])
    .option('-m, --message <text>', 'reason, kept in the history')
    .option('--acknowledge', 'confirm a large scale-down')
    .option('--check-index <index>', 'index that muster plan printed: refuse if the request has changed since');
  examples(
    command,
    'muster deploy -f examples/web/deploy-v2.json --wait',
    'sed s/working/busy/ examples/worker/deploy-v1.json | muster deploy -f - --wait --wait-for 5m',
    'muster deploy -f examples/fragile/deploy-v2.json --wait || echo "exit code $?"',
  );
  remote<DeployFlags, []>(command, run, async (session, flags) => {
    const { readDeploys } = await import('../files/deploys.js');
    const answers = [];
    let code: number = exitCodes.done;
    for (const body of await readDeploys(session, flags.file)) {
      const answer = await session.api.deploys.start({
        ...callOf(flags),
        body: { ...body, ...(flags.message !== undefined && { message: flags.message }) },
      });
      const { requestId } = body.deploy;
      // Where the service makes ids up, the answer alone has it.
      const deployId = (answer.pendingDeployState?.deployMarker.deployId ?? body.deploy.id)!;
      if (!flags.wait) {
        answers.push(answer);
        if (!session.out.isJson) session.out.text(`${requestId}: ${deployId} is being deployed`);
        continue;
      }
      const { outcome, history } = await awaitDeploy(session, { requestId, deployId }, flags.waitFor);
      answers.push(history);
      if (outcome !== 'done') code = exitCodes[outcome];
    }
    if (session.out.isJson) await session.out.answer(answers.length === 1 ? answers[0] : answers, () => undefined);
    return code;
  });
}

const callOf = ({ acknowledge, checkIndex }: { acknowledge?: boolean; checkIndex?: string }) => ({
  ...(acknowledge && { largeScaleDownAcknowledged: true }),
  ...(checkIndex !== undefined && { checkIndex }),
});

interface PlanFlags {
  file?: string[];
  instances?: string;
  acknowledge?: boolean;
  check?: boolean;
}

function plan(...[command, run]: Parameters<Define>): void {
  command
    .argument('[request]', 'request to scale, with --instances')
    .option(...fileOption)
    .option('--instances <number>', 'plan a scale to this number of instances')
    .option('--acknowledge', 'confirm a large scale-down')
    .option('--check', `exit with ${exitCodes.badEnd} if not everything fits`);
  examples(
    command,
    'muster plan -f examples/web/deploy-v2.json',
    'muster plan -f examples/web/deploy-v2.json --check --json',
    'muster plan web --instances 5',
  );
  remote<PlanFlags, [string?]>(command, run, async (session, flags, requestId) => {
    const plans = [];
    if (requestId !== undefined && flags.instances !== undefined) {
      const instances = wholeNumber('--instances', flags.instances, 1);
      plans.push(await session.api.requests.planScale({ requestId, ...callOf(flags), body: { instances } }));
    } else if (flags.file) {
      const { readDeploys } = await import('../files/deploys.js');
      for (const body of await readDeploys(session, flags.file))
        plans.push(await session.api.deploys.plan({ ...callOf(flags), body }));
    } else return command.error('error: name the deploy by -f <file>, or the scale by <request> --instances <number>');
    if (session.out.isJson) await session.out.answer(plans.length === 1 ? plans[0] : plans, () => undefined);
    else for (const each of plans) tellPlan(session.out, each);
    return flags.check && plans.some(({ fits }) => !fits) ? exitCodes.badEnd : exitCodes.done;
  });
}

interface RollbackFlags extends WaitFlags {
  message?: string;
  acknowledge?: boolean;
  checkIndex?: string;
}

function rollback(...[command, run]: Parameters<Define>): void {
  command
    .argument('<request>')
    .argument('[deploy]', 'earlier deploy to go back to; default: the last successful one before the active one')
    .option(...waitOptions[0])
    .option(...waitOptions[1])
    .option('-m, --message <text>', 'reason, kept in the history')
    .option('--acknowledge', 'confirm a large scale-down')
    .option('--check-index <index>', 'index that muster plan printed: refuse if the request has changed since');
  examples(command, 'muster history web --deploys', 'muster rollback web --wait -m "it does not sell"');
  remote<RollbackFlags, [string, string?]>(command, run, async (session, flags, requestId, to) => {
    const body = {
      ...(to !== undefined && { deployId: to }),
      ...(flags.message !== undefined && { message: flags.message }),
    };
    const answer = await session.api.deploys.rollBack({ requestId, ...callOf(flags), body });
    const { deployId, rolledBackTo } = answer;
    if (!session.out.isJson) session.out.text(`${requestId}: ${deployId} deploys ${rolledBackTo} again`);
    if (!flags.wait) {
      if (session.out.isJson) await session.out.answer(answer, () => undefined);
      return;
    }
    const { outcome, history } = await awaitDeploy(session, { requestId, deployId }, flags.waitFor);
    if (session.out.isJson) await session.out.answer(history, () => undefined);
    return exitCodes[outcome];
  });
}
