import {
  enumerations,
  type Backfill,
  type BackfillOrder,
  type BackfillRequest,
  type RequestParent,
} from 'muster-client';
import { muster } from '../api';
import { DAY_MS } from '../ui/duration';
import { paths } from '../ui/links';
import { counted, inWords } from '../ui/words';
import { message, type Action, type Values } from './action';
import { ofRequest } from './request-action-parts';

const MINUTE_MS = 60_000;

const bodyOf = (values: Values): BackfillRequest => ({
  from: values.number('from') ?? 0,
  to: values.number('to') ?? 0,
  concurrency: values.number('concurrency'),
  order: values.text('order') as BackfillOrder,
  force: values.isSet('force') || undefined,
  message: values.text('message'),
});

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
    plan: (values) => planOf(requestId, values),
    run: (values) => muster.requests.backfill({ requestId, body: bodyOf(values) }),
    done: `The backfill of ${requestId} has begun`,
    ...common,
    afterwards: (_answer, _values, go) => go(paths.request(requestId), { tab: 'backfills' }),
  };
}

async function planOf(requestId: string, values: Values) {
  const { runs, skipped } = await muster.requests.planBackfill({ requestId, body: bodyOf(values) });
  return (
    <p>
      It makes {counted(runs, 'run')}.{' '}
      {skipped > 0 &&
        `${counted(skipped, 'planned time')} between had a run and ${skipped === 1 ? 'is' : 'are'} left out.`}
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
