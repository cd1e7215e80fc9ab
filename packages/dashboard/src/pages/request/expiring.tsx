import type { RequestParent } from 'muster-client';
import { useQueryClient } from '@tanstack/react-query';
import { muster } from '../../api';
import { readAgain } from '../../live/read-again';
import { useRefusal } from '../../live/rights';
import { failureText } from '../../ui/read';
import { Time } from '../../ui/time';
import { toast } from '../../ui/toasts';
import { view } from '../../view';

interface ExpiringAction {
  readonly startMillis: number;
  readonly user?: string | undefined;
  readonly expiringAPIRequestObject: { readonly durationMillis?: number; readonly message?: string };
}

interface Kind {
  readonly what: string;
  readonly action: ExpiringAction;
  readonly keep: () => Promise<unknown>;
  readonly revert?: () => Promise<unknown>;
}

function kindsOf(parent: RequestParent): readonly Kind[] {
  const requestId = parent.request.id;
  const { expiringScale, expiringPause, expiringBounce, expiringSkipHealthchecks, expiringPriority } = parent;
  const skips = expiringSkipHealthchecks?.expiringAPIRequestObject.skipHealthchecks === true;
  const kinds: readonly (Kind | undefined | false)[] = [
    expiringScale && {
      what: `Scaled to ${parent.request.instances ?? 1}, back to ${expiringScale.revertToInstances ?? '?'}`,
      action: expiringScale,
      keep: () => muster.requests.makeScalePermanent({ requestId }),
      revert: () =>
        muster.requests.scale({
          requestId,
          body: { instances: expiringScale.revertToInstances },
          largeScaleDownAcknowledged: true,
        }),
    },
    expiringPause && {
      what: 'Paused',
      action: expiringPause,
      keep: () => muster.requests.makePausePermanent({ requestId }),
      revert: () => muster.requests.unpause({ requestId, body: {} }),
    },
    expiringBounce && {
      what: 'Restart under way',
      action: expiringBounce,
      keep: () => muster.requests.makeBouncePermanent({ requestId }),
    },
    expiringSkipHealthchecks && {
      what: skips ? 'Health checks skipped' : 'Health checks used',
      action: expiringSkipHealthchecks,
      keep: () => muster.requests.makeSkipHealthchecksPermanent({ requestId }),
      revert: () => muster.requests.skipHealthchecks({ requestId, body: { skipHealthchecks: !skips } }),
    },
    expiringPriority && {
      what: `Priority ${parent.request.taskPriorityLevel ?? ''}`,
      action: expiringPriority as ExpiringAction,
      keep: () => muster.requests.makePriorityPermanent({ requestId }),
    },
  ];
  return kinds.filter((kind): kind is Kind => Boolean(kind));
}

/** What was done for a time only, until when, and how it is kept or taken back. */
export function Expiring({ parent }: { parent: RequestParent }) {
  const queries = useQueryClient();
  const refusal = useRefusal({ requestId: parent.request.id, scope: 'WRITE' });
  const call = (run: () => Promise<unknown>, what: string) => {
    run()
      .then(() => toast.add({ title: what }))
      .catch((cause: unknown) => toast.add({ title: 'Refused', description: failureText(cause), type: 'bad' }))
      .finally(() => void readAgain(queries, ['request', parent.request.id]));
  };
  return kindsOf(parent).map(({ what, action, keep, revert }) => {
    const { durationMillis = view.defaultBounceExpirationMinutes * 60_000, message } = action.expiringAPIRequestObject;
    return (
      <p key={what} className="notice">
        {what}, ends <Time at={action.startMillis + durationMillis} />
        {action.user !== undefined && `, by ${action.user}`}
        {message !== undefined && `: ${message}`}{' '}
        <button type="button" disabled={refusal !== undefined} title={refusal} onClick={() => call(keep, 'It stays')}>
          Make permanent
        </button>
        {revert && (
          <button
            type="button"
            disabled={refusal !== undefined}
            title={refusal}
            onClick={() => call(revert, 'Taken back')}
          >
            Revert now
          </button>
        )}
      </p>
    );
  });
}
