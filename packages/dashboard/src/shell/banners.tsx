import { muster } from '../api';
import { connection } from '../live/stream';
import { useSignal } from '../live/signal';
import { isStatus } from '../api';
import { useRead } from '../ui/read';
import { Go } from '../ui/links';
import { formatDuration } from '../ui/duration';
import { counted, inWords } from '../ui/words';
import { view } from '../view';

const LATE_MS = 60_000;

export const useClusterState = () => useRead(['state'], () => muster.state.get({}), { everyMs: 10_000 });

/** What everybody should know whatever page they are on, the worst first. */
export function Banners() {
  const state = useClusterState();
  const link = useSignal(connection);
  const disasters = useRead(['disasters', 'active'], () => readIfAllowed(muster.disasters.active({})), {
    everyMs: 60_000,
  });
  const disabled = useRead(['disasters', 'actions'], () => readIfAllowed(muster.disasters.disabledActions({})), {
    everyMs: 60_000,
  });
  const isOutdated = useIsOutdated();
  const alarm = fireAlarmOf(state.data);
  const lost = state.isError && !isStatus(state.error, 401, 403);
  return (
    <section className="banners" aria-label="Notices">
      {lost && (
        <p className="notice bad" role="alert">
          {isStatus(state.error, 502, 503)
            ? 'The service is being restarted. This page goes on by itself.'
            : 'The service does not answer. What is shown may be old; this page goes on by itself.'}
        </p>
      )}
      {isOutdated && (
        <p className="notice warn" role="status">
          The service has another version of this page.{' '}
          <button type="button" className="quiet" onClick={() => location.reload()}>
            Reload
          </button>
        </p>
      )}
      {!lost && link === 'away' && <p className="notice warn">The stream of changes was cut and is tried again.</p>}
      {alarm && (
        <p className="notice bad" role="alert">
          <strong>{alarm.title}</strong> {alarm.message}{' '}
          {alarm.url !== undefined && /^https?:\/\//.test(alarm.url) && <a href={alarm.url}>More</a>}
        </p>
      )}
      {state.data && !state.data.hostStates.some(({ master }) => master) && (
        <p className="notice bad" role="alert">
          No instance leads: nothing is started until one does. <Go to="/status">Status</Go>
        </p>
      )}
      {state.data?.hostStates.some(({ master, clusterConnected }) => master && !clusterConnected) && (
        <p className="notice bad" role="alert">
          The leader has lost the cluster: no task can be started or ended. <Go to="/status">Status</Go>
        </p>
      )}
      {disasters.data?.map((type) => (
        <p key={type} className="notice bad" role="alert">
          Disaster: {inWords(type)}. <Go to="/disasters">Disasters</Go>
        </p>
      ))}
      {disabled.data && disabled.data.length > 0 && (
        <p className="notice warn">
          {disabled.data.length === 1 ? '1 action is' : `${disabled.data.length} actions are`} switched off:{' '}
          {disabled.data
            .slice(0, 3)
            .map(({ type }) => inWords(type))
            .join(', ')}
          . <Go to="/disasters">Disasters</Go>
        </p>
      )}
      {state.data?.minimumPriorityLevel !== undefined && (
        <p className="notice warn">
          Priority freeze: no task below {state.data.minimumPriorityLevel} is started.{' '}
          <Go to="/disasters">Disasters</Go>
        </p>
      )}
      {state.data && state.data.maxTaskLag > LATE_MS && (
        <p className="notice warn">
          {counted(state.data.lateTasks, 'task')} {state.data.lateTasks === 1 ? 'is' : 'are'} late, by up to{' '}
          {formatDuration(state.data.maxTaskLag)}. <Go to="/status">Status</Go>
        </p>
      )}
    </section>
  );
}

/** Version of the page that was seen first: the one that runs here. */
let version: string | undefined;

/** The service has another version of the page, or other settings, as after an upgrade. Asked after each cut of the stream, too. */
function useIsOutdated(): boolean {
  const { data } = useRead(['page', 'version'], versionOfPage, { everyMs: 600_000 });
  version ??= data ?? undefined;
  return data !== undefined && data !== null && data !== version;
}

async function versionOfPage(): Promise<string | null> {
  const answer = await fetch(view.appRoot, { method: 'HEAD', cache: 'no-store' });
  return answer.headers.get('etag');
}

const readIfAllowed = <T,>(call: Promise<readonly T[]>): Promise<readonly T[]> =>
  call.catch((cause: unknown) => {
    if (isStatus(cause, 403)) return [];
    throw cause;
  });

interface FireAlarm {
  readonly title: string;
  readonly message?: string;
  readonly url?: string;
}

/** A notice that operators of older installations have in the state; not all services send one. */
function fireAlarmOf(state: object | undefined): FireAlarm | undefined {
  const alarm = (state as { fireAlarm?: FireAlarm } | undefined)?.fireAlarm;
  return typeof alarm?.title === 'string' ? alarm : undefined;
}
