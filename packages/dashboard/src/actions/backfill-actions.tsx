import { enumerations, type Backfill, type BackfillOrder, type RequestParent } from 'muster-client';
import { muster } from '../api';
import { membersOf, timetableMembers } from '../forms/timing';
import { DAY_MS } from '../ui/duration';
import { paths } from '../ui/links';
import { inWords } from '../ui/words';
import { message, type Action, type Values } from './action';
import { ofRequest } from './request-action-parts';

/** Of one backfill, and of one preview. */
const MOST_TIMES = 1_000;
const MINUTE_MS = 60_000;

/** Makes runs of planned times of the past; says before how many those are. */
export function backfill(parent: RequestParent): Action {
  const { requestId, ...common } = ofRequest(parent);
  // As fields show it.
  const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  return {
    id: 'backfill',
    label: 'Backfill',
    explains: `Runs planned times of ${requestId} that are past, beside the runs of its schedule.`,
    fields: [
      { kind: 'time', name: 'from', label: 'From', initial: now - DAY_MS },
      { kind: 'time', name: 'to', label: 'Before', initial: now, help: 'This time itself does not count' },
      { kind: 'number', name: 'concurrency', label: 'Runs at a time', initial: 1, min: 1, max: 100 },
      {
        kind: 'choice',
        name: 'order',
        label: 'Order',
        initial: 'OLDEST_FIRST',
        choices: enumerations.BackfillOrder.map((order) => [order, inWords(order)] as const),
      },
      { kind: 'check', name: 'force', label: 'Run times again that have had a run', initial: false },
      message,
    ],
    plan: (values) => planOf(parent, values),
    run: (values) =>
      muster.requests.backfill({
        requestId,
        body: {
          from: values.number('from') ?? 0,
          to: values.number('to') ?? 0,
          concurrency: values.number('concurrency'),
          order: values.text('order') as BackfillOrder,
          force: values.isSet('force') || undefined,
          message: values.text('message'),
        },
      }),
    done: `The backfill of ${requestId} has begun`,
    ...common,
    afterwards: (_answer, _values, go) => go(paths.request(requestId), { tab: 'backfills' }),
  };
}

/** A rule of RFC 5545 without a begin depends on when the service has read it: of it no past time is told. */
const isRule = ({ request }: RequestParent): boolean =>
  [request, ...(request.schedules ?? [])].some(({ scheduleType }) => scheduleType === 'RFC5545');

async function planOf(parent: RequestParent, values: Values) {
  const [from, to] = [values.number('from'), values.number('to')];
  if (from === undefined || to === undefined || to <= from) return <p>No time lies between.</p>;
  if (isRule(parent)) return <p>How many times lie between is told when it begins.</p>;
  const { request } = parent;
  const { times } = await muster.requests.previewSchedule({
    body: { id: request.id, ...membersOf(request, timetableMembers), after: from - 1, count: MOST_TIMES },
  });
  const planned = times.filter(({ at, skipped }) => at < to && skipped === undefined).length;
  const isMore = times.length === MOST_TIMES && times.at(-1)!.at < to;
  return (
    <p>
      {isMore ? `At least ${planned}` : planned} planned {planned === 1 ? 'time lies' : 'times lie'} between
      {isMore && `; ${MOST_TIMES} are the most of one backfill`}.{' '}
      {!values.isSet('force') && 'Those that have had a run are left out.'}
    </p>
  );
}

export const cancelBackfill = ({ id, requestId, waiting, queued }: Backfill): Action => ({
  id: `cancel ${id}`,
  label: 'Cancel backfill',
  isDangerous: true,
  explains: `The ${waiting} times that wait are not run. Of the ${queued} whose runs wait or are active, those that have begun go on to their ends.`,
  needs: { requestId, scope: 'WRITE' },
  fields: [],
  run: () => muster.requests.cancelBackfill({ requestId, backfillId: id }),
  done: 'The backfill is canceled',
  outdates: [['request', requestId]],
});
