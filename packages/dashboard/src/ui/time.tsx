import { useSyncExternalStore } from 'react';
import { preferences } from '../preferences';
import { Signal, useSignal } from '../live/signal';
import { view } from '../view';
import { formatDuration } from './duration';
import { formatTime, isoTime, relativeTime } from './time-format';

/** One clock for the page. It moves while somebody looks, a second at a time. */
const now = new Signal(Date.now());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function watchClock(listener: () => void): () => void {
  const leave = now.subscribe(listener);
  if (watchers++ === 0) {
    now.set(Date.now());
    timer = setInterval(() => document.hidden || now.set(Date.now()), 1_000);
  }
  return () => {
    leave();
    if (--watchers === 0) clearInterval(timer);
  };
}

/** The present time in steps: what shows hours need not be drawn each second. */
export const useNow = (stepMs = 1_000): number =>
  useSyncExternalStore(watchClock, () => Math.floor(now.get() / stepMs) * stepMs);

const zoneName = (zone: string): string | undefined => (zone === 'browser' ? undefined : zone);

/** The zone of all times on the page; undefined: that of the browser. */
export const useZone = (): string | undefined => zoneName(useSignal(preferences).zone);

/** Defaults of the two formats, which older pages need. Unless the setting was changed, times are written as in the log. */
const olderFormats = ['lll Z', 'lll:ss Z'];

/** The last moment that JavaScript has a date for. */
const lastMoment = 8.64e15;

export function useExactTime(given: number, format = view.timestampWithSecondsFormat): string {
  const zone = useZone();
  const at = Math.min(given, lastMoment);
  return format && !olderFormats.includes(format) ? formatTime(at, format, zone) : isoTime(at, zone);
}

/** A moment: how long ago or ahead, or by the clock, as preferred; the other of the two where a pointer or the focus rests. */
export function Time({ at }: { at: number | undefined }) {
  if (!at) return <span className="faint">–</span>;
  return <Moment at={at} />;
}

function Moment({ at }: { at: number }) {
  const { times } = useSignal(preferences);
  const isRelative = times === 'relative';
  const exact = useExactTime(at, isRelative ? view.timestampWithSecondsFormat : view.timestampFormat);
  // Beyond some minutes a second more or less is not seen.
  const isNear = Math.abs(at - now.get()) < 180_000;
  const relative = relativeTime(at, useNow(isNear ? 1_000 : 30_000));
  return (
    <time dateTime={new Date(at).toISOString()} title={isRelative ? exact : relative}>
      {isRelative ? relative : exact}
    </time>
  );
}

/** How long something has lasted, until it ended or until now. */
export function Lasted({ from, to }: { from: number; to?: number | undefined }) {
  const present = useNow(to === undefined && now.get() - from > 3_600_000 ? 60_000 : 1_000);
  return <span>{formatDuration(Math.max(0, (to ?? present) - from))}</span>;
}

/** Who did something, when, and what they said of it. */
export const Marked = ({ user, timestamp, message }: { user?: string; timestamp: number; message?: string }) => (
  <>
    {user !== undefined && `by ${user}, `}
    <Time at={timestamp} />
    {message !== undefined && `: ${message}`}
  </>
);
