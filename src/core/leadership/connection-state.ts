/** Connection of an instance to the cluster. Only a SUBSCRIBED one decides anything. */
export const connectionStates = [
  'NOT_STARTED',
  'SUBSCRIBED',
  'PAUSED_SUBSCRIBED',
  'PAUSED_FOR_RECONNECT',
  'STOPPED',
] as const;
export type ConnectionState = (typeof connectionStates)[number];

export interface ConnectionFacts {
  /** An operator told it not to compete for the leadership. */
  suspended: boolean;
  /** It leads, and everything that only a leader does has begun. */
  leads: boolean;
  /** Since the end of its last time of leading; absent when it never led. */
  millisSinceLed?: number;
  /** Age of the newest word from any machine; absent when there was none. */
  millisSinceHeard?: number;
}

/** A healthy machine is heard of every 20 seconds even when nothing happens there. */
const lostAfterMillis = 30_000;
/** So long an instance that lost the leadership may still be ending what it had begun. */
const endingMillis = 5_000;

export function connectionState(facts: ConnectionFacts): ConnectionState {
  const { suspended, leads, millisSinceLed, millisSinceHeard } = facts;
  if (suspended) return 'STOPPED';
  if (leads) {
    const isHeard = millisSinceHeard !== undefined && millisSinceHeard <= lostAfterMillis;
    return isHeard ? 'SUBSCRIBED' : 'PAUSED_FOR_RECONNECT';
  }
  if (millisSinceLed === undefined) return 'NOT_STARTED';
  return millisSinceLed < endingMillis ? 'PAUSED_SUBSCRIBED' : 'STOPPED';
}
