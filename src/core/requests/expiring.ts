import type { ExpiringKind } from '../model/enums.js';

const names: Readonly<Record<ExpiringKind, string>> = {
  BOUNCE: 'Bounce',
  PAUSE: 'Pause',
  SCALE: 'Scale',
  PRIORITY: 'Priority',
  SKIP_HEALTHCHECKS: 'Skip healthchecks',
  SLAVE: 'Slave state change',
  RACK: 'Rack state change',
};

/** What the history says when a change has lapsed: which one, after how long, and what was said when it was made. */
export const lapseMessage = (kind: ExpiringKind, durationMillis: number, message: string | undefined): string =>
  `${names[kind]} expired after ${duration(durationMillis)}${message ? ` (${message})` : ''}`;

/** mm:ss.mmm, with hours in front where there are any. */
function duration(millis: number): string {
  const hours = Math.floor(millis / 3_600_000);
  const minutes = Math.floor((millis / 60_000) % 60);
  const seconds = Math.floor((millis / 1000) % 60);
  const two = (part: number): string => String(part).padStart(2, '0');
  const short = `${two(minutes)}:${two(seconds)}.${String(millis % 1000).padStart(3, '0')}`;
  return hours > 0 ? `${two(hours)}:${short}` : short;
}

/** A change is over when more time than it was given has gone by. */
export const hasLapsed = (startMillis: number, durationMillis: number, now: number): boolean =>
  now - startMillis > durationMillis;
