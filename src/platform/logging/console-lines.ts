import type { LoggerService } from '@nestjs/common';

/** The timer of pollers tells of ticks that came late or not at all. Nothing is lost by that: the next tick looks again. */
const lateTick = /^\[Cron\] Missed execution deadline/;

/** What libraries write to the console goes to the log, so that it is in its format and obeys its level. */
export function logConsoleLines(logger: LoggerService, target: Pick<Console, 'warn' | 'error'> = console): void {
  const text = (parts: unknown[]): string => parts.map(String).join(' ');
  target.warn = (...parts: unknown[]) => {
    const line = text(parts);
    if (lateTick.test(line)) logger.debug?.(line, 'Pollers');
    else logger.warn(line, 'Console');
  };
  target.error = (...parts: unknown[]) => logger.error(text(parts), undefined, 'Console');
}
