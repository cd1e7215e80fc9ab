import type { LoggerService } from '@nestjs/common';
import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from '../settings/settings.js';
import { forPeople } from './for-people.js';
import { withoutCredentials } from './without-credentials.js';

export interface LogOptions {
  level: LogLevel;
  format: 'auto' | 'pretty' | 'json';
  /** Where lines go; the standard output unless a test listens. */
  destination?: DestinationStream & { isTTY?: boolean };
}

/** What Nest tells about modules and routes at every start is for whoever looks for a mistake in them. */
const aboutWiring = new Set<unknown>([
  'NestFactory',
  'NestApplication',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
]);

/** Nest's logger on pino: one line per message, with the class that speaks as `context` and errors with their stack. */
export class PinoLogger implements LoggerService {
  private readonly pino: Logger;

  constructor({ level, format, destination = process.stdout }: LogOptions) {
    const people = format === 'pretty' || (format === 'auto' && destination.isTTY === true);
    this.pino = pino(
      {
        level,
        base: undefined,
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      withoutCredentials(people ? forPeople(destination) : destination),
    );
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write(aboutWiring.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest passes the context last; before it may stand an error or the text of a stack. */
  private write(
    level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal',
    message: unknown,
    rest: unknown[],
  ): void {
    const context = typeof rest.at(-1) === 'string' ? (rest.at(-1) as string) : undefined;
    const others = context === undefined ? rest : rest.slice(0, -1);
    const err = [message, ...others].find((value) => value instanceof Error);
    const stack = err ? undefined : others.find((value) => typeof value === 'string');
    const text = message instanceof Error ? message.message : typeof message === 'string' ? message : undefined;
    const data = text === undefined ? { data: message } : {};
    this.pino[level]({ context, ...data, ...(err && { err }), ...(stack !== undefined && { stack }) }, text);
  }
}
