import { setTimeout as delay } from 'node:timers/promises';
import type { BackfillPlan } from 'muster-client';
import { CliError } from '../exit-codes.js';
import { remote, type Session } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { shownTime, timeMillis, wholeNumber } from '../words.js';

export const backfill: Record<string, Define> = { backfill: define };

interface Flags {
  from?: string;
  to?: string;
  concurrency?: string;
  newestFirst?: boolean;
  force?: boolean;
  message?: string;
  wait?: boolean;
  plan?: boolean;
  show?: string;
  cancel?: string;
}

/** What belongs to a new backfill. */
const startOptions = [
  ['to', '--to'],
  ['concurrency', '--concurrency'],
  ['newestFirst', '--newest-first'],
  ['force', '--force'],
  ['message', '--message'],
  ['plan', '--plan'],
  ['wait', '--wait'],
] as const satisfies readonly (readonly [keyof Flags, string])[];

type Backfill = Awaited<ReturnType<Session['api']['requests']['findBackfill']>>;

/** Runs planned times of the past. */
function define(...[command, run]: Parameters<Define>): void {
  command
    .argument('<request>', 'a SCHEDULED job')
    .option('--from <time>', 'the first planned time, such as 2026-01-05 or 2026-01-05T12:00:00Z')
    .option('--to <time>', 'before this time, which is not in the future')
    .option('--concurrency <number>', 'the most of its runs at a time; default: 1')
    .option('--newest-first', 'begin with the newest time')
    .option('--force', 'run times again that have had a run')
    .option('-m, --message <text>', 'reason, kept with the runs')
    .option('--plan', 'say how many runs it would make, and make none')
    .option('--wait', 'wait until all of it has run')
    .option('--show <id>', 'show how far a backfill is')
    .option('--cancel <id>', 'run no more of a backfill; what has begun goes on');
  command.addHelpText('after', '\nWithout --from, --show and --cancel: lists the backfills of the request.');
  examples(
    command,
    'muster backfill report --from 2026-01-01T00:00:00Z --to 2026-01-01T00:01:00Z --concurrency 2',
    'muster backfill report --from 2026-01-01T00:00:00Z --to 2026-01-01T00:05:00Z --plan',
    'muster backfill report',
    'muster backfill report --cancel 0b8e2c1a-6f1d-4e0b-9f55-1c2d3e4f5a6b',
  );
  remote<Flags, [string]>(command, run, async (session, flags, requestId) => {
    const { api, out } = session;
    const { from, to, show, cancel } = flags;
    if ([from, show, cancel].filter((given) => given !== undefined).length > 1)
      throw new CliError('usage', 'give one of --from, --show and --cancel');
    const alone = startOptions.find(([name]) => from === undefined && flags[name] !== undefined);
    if (alone) throw new CliError('usage', `${alone[1]} needs --from`);
    if (cancel !== undefined) {
      const canceled = await api.requests.cancelBackfill({ requestId, backfillId: cancel });
      return out.answer(canceled, () => summary(canceled));
    }
    if (show !== undefined) {
      const found = await api.requests.findBackfill({ requestId, backfillId: show });
      return out.answer(found, () => {
        out.text(summary(found));
        const rows = (found.times ?? []).map((time) => [shownTime(time.scheduledAt), time.state, time.taskId ?? '']);
        out.table(['PLANNED', 'STATE', 'TASK'], rows);
      });
    }
    if (from === undefined) {
      const all = await api.requests.listBackfills({ requestId });
      return out.answer(all, () => all.forEach((one) => out.text(summary(one))));
    }
    if (to === undefined) throw new CliError('usage', '--from needs --to');
    const { concurrency, newestFirst, force, message } = flags;
    const body = {
      from: timeMillis('--from', from),
      to: timeMillis('--to', to),
      ...(concurrency !== undefined && { concurrency: wholeNumber('--concurrency', concurrency, 1, 100) }),
      ...(newestFirst && { order: 'NEWEST_FIRST' as const }),
      ...(force && { force }),
      ...(message !== undefined && { message }),
    };
    if (flags.plan) {
      const plan = await api.requests.planBackfill({ requestId, body });
      return out.answer(plan, () => out.text(outlook(plan)));
    }
    const begun = await api.requests.backfill({ requestId, body });
    const last = flags.wait ? await untilOver(session, begun) : begun;
    await out.answer(last, () => summary(last));
    if (flags.wait && last.failed > 0) throw new CliError('badEnd', `${last.failed} of its runs failed`);
  });
}

const everyMillis = 1_000;

async function untilOver({ api }: Session, { requestId, id }: Backfill): Promise<Backfill> {
  for (;;) {
    const found = await api.requests.findBackfill({ requestId, backfillId: id });
    if (found.endedAt !== undefined) return found;
    await delay(everyMillis);
  }
}

function outlook({ runs, skipped, first, last }: BackfillPlan): string {
  const range = first === undefined || last === undefined ? '' : `, from ${shownTime(first)} to ${shownTime(last)}`;
  const left = skipped > 0 ? `; ${skipped} planned ${skipped === 1 ? 'time has' : 'times have'} had a run` : '';
  return `${runs} ${runs === 1 ? 'run' : 'runs'}${range}${left}`;
}

function summary({ id, from, to, waiting, queued, succeeded, failed, canceled, skipped, ...rest }: Backfill): string {
  const counts = Object.entries({ waiting, queued, succeeded, failed, canceled, skipped });
  const shown = counts.filter(([, count]) => count > 0).map(([name, count]) => `${count} ${name}`);
  const state = rest.canceledAt !== undefined ? ', canceled' : rest.endedAt !== undefined ? ', over' : '';
  return `${id}: ${shownTime(from)} to ${shownTime(to)}: ${shown.join(', ')}${state}`;
}
