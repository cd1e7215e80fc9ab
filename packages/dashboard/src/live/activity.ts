import { followEvents, type Event } from 'muster-client';
import { muster } from '../api';
import { Signal } from './signal';
import type { Told } from './told';

/** Events that are kept in the page; those before are in the service for a while. */
const RECENT = 500;
/** Of those that are read on demand. */
export const MOST_KEPT = 5_000;
/** What is kept has been read when nothing more comes for so long: the stream then waits for what is to come. */
const QUIET_MS = 2_000;

/** What has happened while the page was open, the newest first. */
export const activity = new Signal<readonly Told[]>([]);

export const note = (told: Told): void => activity.set([told, ...activity.get()].slice(0, RECENT));

/** What the service keeps, the oldest first, and no more than a page can show. */
export async function readKept(wish: { type?: Event['type'][]; requestId?: string[] }): Promise<readonly Told[]> {
  const reading = new AbortController();
  const kept: Told[] = [];
  let quiet = setTimeout(() => reading.abort(), QUIET_MS);
  try {
    for await (const told of followEvents(muster, { ...wish, lastEventId: '0' }, { signal: reading.signal })) {
      clearTimeout(quiet);
      if (told.kind === 'event') kept.push({ id: told.id, event: told.event });
      if (kept.length >= MOST_KEPT) break;
      quiet = setTimeout(() => reading.abort(), QUIET_MS);
    }
  } catch (cause) {
    if (!reading.signal.aborted) throw cause;
  } finally {
    clearTimeout(quiet);
    reading.abort();
  }
  return kept;
}
