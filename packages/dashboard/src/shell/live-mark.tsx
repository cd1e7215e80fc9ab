import { connection } from '../live/stream';
import { useSignal } from '../live/signal';
import { Mark } from '../ui/badge';

/** Whether what is on the page is as it is now. */
export function LiveMark() {
  const state = useSignal(connection);
  return (
    <span className="live" role="status">
      {state === 'live' ? (
        <Mark tone="good">live</Mark>
      ) : state === 'away' ? (
        <Mark tone="bad">connection lost</Mark>
      ) : (
        <Mark tone="busy">{state === 'paused' ? 'paused' : 'connecting'}</Mark>
      )}
    </span>
  );
}
