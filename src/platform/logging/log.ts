import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from '../settings/settings.js';

export interface LogOptions {
  level: LogLevel;
  format: 'auto' | 'pretty' | 'json';
  /** Where lines go; the standard output unless a test listens. */
  destination?: DestinationStream & { isTTY?: boolean };
}

/** What Nest tells about modules and routes at every start helps only to find a mistake in them. */
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

const colours: Record<string, string> = { error: '31', fatal: '31', warn: '33', info: '32', debug: '36', trace: '90' };

interface Line {
  time: string;
  level: string;
  msg?: string;
  context?: string;
  data?: unknown;
  stack?: string;
  err?: { stack?: string };
}

/** Turns lines of JSON into lines for a terminal: time of day, level, who speaks, what. */
function forPeople(destination: DestinationStream): DestinationStream {
  return {
    write: (json) => {
      const { time, level, msg, context, data, stack, err } = JSON.parse(json) as Line;
      const clock = time.slice(11, 23);
      const head = `\u001b[90m${clock}\u001b[0m \u001b[${colours[level]}m${level.toUpperCase().padEnd(5)}\u001b[0m`;
      const who = context ? `\u001b[90m[${context}]\u001b[0m ` : '';
      const text = msg ?? JSON.stringify(data);
      const trace = err?.stack ?? stack;
      destination.write(`${head} ${who}${text}\n${trace && level !== 'warn' ? `${trace}\n` : ''}`);
    },
  };
}

const mask = '***';

/** Where a line of JSON may carry what proves the identity of a user. Each keeps what stands before the proof. */
const places: readonly RegExp[] = [
  // Headers, as members of a record or in a text; their value ends with the text.
  /((?:proxy-)?authorization\\?["']?\s*[:=]\s*\\?["']?)[^"'\\]+/gi,
  /((?:set-)?cookie\\?["']?\s*[:=]\s*\\?["']?)[^"'\\]+/gi,
  // Members of records, and parameters of URLs.
  /("[\w-]*(?:password|passwd|secret|token)\\?"\s*:\s*\\?")[^"\\]+/gi,
  /([?&](?:[\w-]*(?:password|secret|token))=)[^&\s"'\\]+/gi,
  /(:\/\/[^\s/:@"']+:)[^\s/@"']+(?=@)/g,
  // The proof by itself: a scheme with something long enough to be one, or a signed token.
  /(\b(?:Bearer|Basic) +)[\w.~+/=-]{8,}/gi,
  /(\bToken +)[\w.~+/=-]{16,}/gi,
  /()\beyJ[\w-]+\.[\w-]+\.[\w-]*/g,
];

/** The same text without passwords, tokens and cookies. */
export const maskCredentials = (text: string): string =>
  places.reduce((line, place) => line.replace(place, `$1${mask}`), text);

/** Nothing that proves the identity of a user gets into the log, whichever part of the program writes the line. */
function withoutCredentials(destination: DestinationStream): DestinationStream {
  return { write: (line) => destination.write(maskCredentials(line)) };
}

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
