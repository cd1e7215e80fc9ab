import { useState } from 'react';
import type { RequestParent } from 'muster-client';
import { muster } from '../../api';
import { useUnwritable } from '../../live/rights';
import { failureText } from '../../ui/read';
import { Mark } from '../../ui/badge';
import { toast } from '../../ui/toasts';

type Outcome = { readonly id: string; readonly failure?: string };

/** What may be done with many requests in one go. */
const doings: Readonly<Record<string, (requestId: string, text: string | undefined) => Promise<unknown>>> = {
  Pause: (requestId, message) => muster.requests.pause({ requestId, body: { message } }),
  Unpause: (requestId, message) => muster.requests.unpause({ requestId, body: { message } }),
  Restart: (requestId, message) => muster.requests.bounce({ requestId, body: { message, incremental: true } }),
  'Run now': (requestId, message) => muster.requests.run({ requestId, body: { message } }),
  'Skip health checks': (requestId, message) =>
    muster.requests.skipHealthchecks({ requestId, body: { message, skipHealthchecks: true } }),
  'Use health checks': (requestId, message) =>
    muster.requests.skipHealthchecks({ requestId, body: { message, skipHealthchecks: false } }),
};

const AT_ONCE = 8;
/** Beyond these many, their number has to be typed. */
const MANY = 20;

/** The ids are those that were chosen when it began, and each of them gets an answer of its own. */
export function Bulk({
  ids,
  all,
  choose,
}: {
  ids: readonly string[];
  all: readonly RequestParent[];
  choose: (ids: ReadonlySet<string>) => void;
}) {
  const [message, setMessage] = useState('');
  const [typed, setTyped] = useState('');
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>();
  const [busy, setBusy] = useState(false);
  const unwritable = useUnwritable(ids);
  const writable = ids.filter((id) => !unwritable.has(id));
  const refusal = writable.length === 0 ? 'You may read these requests and not change them' : undefined;
  const isSure = writable.length <= MANY || typed === String(writable.length);

  async function run(name: string, chosen: readonly string[]): Promise<void> {
    setBusy(true);
    const done: Outcome[] = [];
    const rest = [...chosen];
    const work = async (): Promise<void> => {
      for (let id = rest.shift(); id !== undefined; id = rest.shift()) {
        const failure = await doings[name]!(id, message || undefined).then(
          () => undefined,
          (cause: unknown) => failureText(cause),
        );
        done.push({ id, ...(failure !== undefined && { failure }) });
        setOutcomes([...done]);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    setBusy(false);
    const refused = done.filter(({ failure }) => failure !== undefined);
    toast.add({ title: `${name}: ${done.length - refused.length} done, ${refused.length} refused` });
    choose(new Set(refused.map(({ id }) => id)));
  }

  const failed = outcomes?.filter(({ failure }) => failure !== undefined) ?? [];
  return (
    <section className="bulk" aria-label="Chosen requests">
      <p>
        {ids.length} chosen{' '}
        <button type="button" className="quiet" onClick={() => choose(new Set(all.map(({ request }) => request.id)))}>
          Choose all {all.length} that are listed
        </button>
        <button type="button" className="quiet" onClick={() => choose(new Set())}>
          Choose none
        </button>
      </p>
      {unwritable.size > 0 && (
        <p className="faint">
          {refusal ?? `Left out, because you may read and not change them: ${[...unwritable].join(', ')}`}
        </p>
      )}
      <input
        aria-label="Message"
        placeholder="Message"
        value={message}
        onChange={(event) => setMessage(event.target.value)}
      />
      {writable.length > MANY && (
        <input
          aria-label={`Type ${writable.length} to go on`}
          placeholder={`Type ${writable.length}`}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      )}
      {Object.keys(doings).map((name) => (
        <button
          key={name}
          type="button"
          disabled={busy || !isSure || refusal !== undefined}
          title={refusal}
          onClick={() => void run(name, writable)}
        >
          {name}
        </button>
      ))}
      {outcomes && (
        <div role="status">
          <Mark tone={failed.length > 0 ? 'bad' : 'good'}>
            {outcomes.length - failed.length} done, {failed.length} refused
          </Mark>
          <ul>
            {failed.map(({ id, failure }) => (
              <li key={id}>
                {id}: {failure}
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}
