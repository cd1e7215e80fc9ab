/**
 * Silence of an agent after which its machines get no new tasks: long enough for one that is started anew or stands
 * still for a moment, and short enough to be seen within half a minute, with the time that it takes to look.
 */
export const silentAfterMillis = 25_000;

/** `silentForMillis`: since the agent answered last, or the leader began to listen. */
export const isSilent = (silentForMillis: number): boolean => silentForMillis >= silentAfterMillis;
