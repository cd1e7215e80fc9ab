import type { Event, FollowedEvent } from 'muster-client';
import { plain } from '../../core/terminal-text.js';
import { remote, type Session } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { shownState, shownTime } from '../words.js';

interface Flags {
  follow?: boolean;
  type?: string[];
  request?: string[];
  after?: string;
}

/** Without --follow it is over when so long nothing more of what is kept has come. */
const quietMillis = 1_000;

/** Prints the events that are kept; or new ones as they come, without a gap, whatever becomes of the connection. */
export function events(...[command, run]: Parameters<Define>): void {
  command
    .option('-f, --follow', 'show new events, until Ctrl-C')
    .option(
      '--type <type...>',
      'only events of these types: request, deploy, pending, task, health, crashloop, slave, rack, disaster',
    )
    .option('--request <id...>', 'only events of these requests')
    .option('--after <number>', 'only events after the one with this number');
  examples(command, 'muster events', 'muster events -f --type deploy task --request web', 'muster events -f --json');
  remote<Flags, []>(command, run, async (session, { follow = false, type = [], request = [], after }) => {
    const { followEvents } = await import('muster-client');
    // A server that is away or refuses is told of at once; later it is waited for.
    await session.api.auth.whoCalls();
    const quiet = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const wait = (): void => {
      clearTimeout(timer);
      if (!follow) timer = setTimeout(() => quiet.abort(), quietMillis);
    };
    const wish = {
      type: type.map((each) => each.toUpperCase() as Event['type']),
      requestId: request,
      lastEventId: after ?? (follow ? undefined : '0'),
    };
    const onConnection = (state: 'open' | 'away'): void => {
      if (state === 'open') wait();
      else session.out.note(`${session.address.url} does not answer; retrying`);
    };
    try {
      const patienceMs = follow ? Infinity : 0;
      for await (const told of followEvents(session.api, wish, { signal: quiet.signal, patienceMs, onConnection })) {
        wait();
        tell(session, told);
      }
    } catch (cause) {
      if (!quiet.signal.aborted) throw cause;
    } finally {
      clearTimeout(timer);
    }
  });
}

function tell({ out }: Session, told: FollowedEvent): void {
  if (told.kind === 'reset') return out.note(`reset: ${told.message}`);
  const { event } = told;
  const { at, type, requestId, deployId, taskId, machineId, disaster, user, message } = event;
  const what = taskId ?? (deployId === undefined ? (requestId ?? machineId ?? disaster) : `${requestId} ${deployId}`);
  const { taskState, deployState, eventType, state, crashLoopType, active } = event;
  const healthy = type === 'HEALTH' ? 'healthy' : undefined;
  const now = taskState ?? deployState ?? eventType ?? state ?? crashLoopType ?? active ?? healthy;
  const cells = [shownTime(at), type, what, shownState(String(now ?? '')), user, message];
  out.each({ id: Number(told.id), ...event }, () =>
    cells
      .map((cell) => plain(String(cell ?? '')))
      .join('\t')
      .trimEnd(),
  );
}
