import type { Request, SchedulePreviewRequest } from 'muster-client';
import { timingMembers } from '../../core/schedules/timing-members.js';
import { CliError } from '../exit-codes.js';
import { remote } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { knownWord, shownTime, timeMillis, wholeNumber } from '../words.js';

export const schedule: Record<string, Define> = { schedule: define };

interface Flags {
  file?: string;
  type?: string;
  timeZone?: string;
  after?: string;
  count?: string;
}

const previewMembers = ['id', 'instances', ...timingMembers] as const satisfies readonly (keyof SchedulePreviewRequest &
  keyof Request)[];

interface UpcomingFlags {
  from?: string;
  to?: string;
  request?: string;
  count?: string;
}

/** Times of schedules: of one before a request has it, and of those that there are. */
function define(...[command, run]: Parameters<Define>): void {
  const preview = command
    .command('preview')
    .description('show the next times of a schedule, and why no run starts at some of them')
    .argument('[schedule]', 'a schedule, such as "0 3 * * *"')
    .option('-f, --file <file>', 'show the times of the request in this YAML or JSON file; - for stdin')
    .option('--type <type>', 'kind of the schedule: cron, quartz or rfc5545; default: cron')
    .option('--time-zone <zone>', 'time zone of the schedule, such as Europe/Paris; default: UTC')
    .option('--after <time>', 'only times after this one, such as 2026-01-05 or 2026-01-05T12:00:00Z; default: now')
    .option('--count <number>', 'number of times; default: 10');
  examples(
    command,
    'muster schedule preview "0 3 * * MON-FRI" --time-zone Europe/Paris --count 5',
    'muster schedule preview "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0" --type rfc5545',
    'muster schedule preview -f examples/report/request.json',
  );
  remote<Flags, [string?]>(preview, run, async ({ api, out }, flags, text) => {
    const { after, count } = flags;
    const answer = await api.requests.previewSchedule({
      body: {
        ...(await timesAsked(text, flags)),
        ...(after !== undefined && { after: timeMillis('--after', after) }),
        ...(count !== undefined && { count: wholeNumber('--count', count, 1, 1_000) }),
      },
    });
    await out.answer(answer, () => {
      const rows = answer.times.map(({ utc, local, timeZone, message }) => [utc, local, timeZone, message]);
      out.table(['UTC', 'LOCAL', 'ZONE', 'NO RUN'], rows);
      if (answer.end !== 'COUNT') out.text(ends[answer.end]);
    });
  });
  const upcoming = command
    .command('upcoming')
    .description('list the runs that schedules ask for, the next one first')
    .option('--from <time>', 'not before this time, such as 2026-01-05 or 2026-01-05T12:00:00Z; default: now')
    .option('--to <time>', 'before this time; default: a day after the first')
    .option('--request <id>', 'only of this request')
    .option('--count <number>', 'at most so many; default: 1000');
  examples(upcoming, 'muster schedule upcoming --count 20', 'muster schedule upcoming --request report');
  remote<UpcomingFlags, []>(upcoming, run, async ({ api, out }, { from, to, request, count }) => {
    const found = await api.requests.upcomingRuns({
      ...(from !== undefined && { from: timeMillis('--from', from) }),
      ...(to !== undefined && { to: timeMillis('--to', to) }),
      ...(request !== undefined && { requestId: request }),
      ...(count !== undefined && { limit: wholeNumber('--count', count, 1, 10_000) }),
    });
    await out.answer(found, () => {
      out.table(
        ['TIME', 'REQUEST', 'ZONE'],
        found.runs.map(({ at, requestId, timeZone }) => [shownTime(at), requestId, timeZone]),
      );
      if (!found.isComplete) out.text('There are more');
    });
  });
}

const ends = {
  MAX_RUNS: 'maxRuns allows no further run',
  END_AT: 'endAt allows no further time',
  NO_FURTHER_TIME: 'the schedule has no further time',
} as const;

async function timesAsked(text: string | undefined, flags: Flags): Promise<SchedulePreviewRequest> {
  const { file, type, timeZone } = flags;
  if ((text === undefined) === (file === undefined)) throw new CliError('usage', 'give a schedule or --file');
  if (file === undefined) {
    return {
      schedule: text!,
      scheduleType: (await knownWord('--type', type, 'ScheduleType')) as SchedulePreviewRequest['scheduleType'],
      ...(timeZone !== undefined && { scheduleTimeZone: timeZone }),
    };
  }
  if (type !== undefined || timeZone !== undefined)
    throw new CliError('usage', '--type and --time-zone belong to a schedule; the request in a file has its own');
  const { readDocuments } = await import('../files/documents.js');
  const { requests } = await readDocuments([file]);
  const [first, ...more] = requests;
  if (!first || more.length > 0) throw new CliError('usage', `${file}: there must be one request in it`);
  const { value, place } = first;
  if (value.requestType !== undefined && value.requestType !== 'SCHEDULED')
    throw new CliError('usage', `${place}: a ${value.requestType} request has no schedule`);
  return Object.fromEntries(previewMembers.flatMap((name) => (value[name] === undefined ? [] : [[name, value[name]]])));
}
