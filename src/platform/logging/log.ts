import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { isColorSupported, prettyFactory } from 'pino-pretty';
import { terminalJson } from '../../core/terminal-text.js';
import type { LogFormat, LogLevel } from '../settings/settings.js';

export interface LogOptions {
  level: LogLevel;
  format: LogFormat;
  /** Number of the API worker that speaks, where there are several processes. */
  worker?: number;
  /** Destination of lines; the standard output unless a test listens. */
  destination?: DestinationStream & { isTTY?: boolean };
}

/** Contexts in which Nest logs modules and routes at every start, which helps only to find a mistake in them. */
const aboutWiring = new Set<unknown>([
  'NestFactory',
  'NestApplication',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
]);

/** auto: for people on a terminal, JSON elsewhere. */
export const isForPeople = (format: LogFormat, { isTTY }: { isTTY?: boolean } = process.stdout): boolean =>
  format === 'pretty' || (format === 'auto' && isTTY === true);

/** Nest's logger on pino: one line per message, with the class that speaks as `context` and errors with their stack. */
export class PinoLogger implements LoggerService {
  private readonly pino: Logger;

  constructor({ level, format, worker, destination = process.stdout }: LogOptions) {
    const people = isForPeople(format, destination);
    this.pino = pino(
      {
        level,
        base: worker === undefined ? undefined : { worker },
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      withoutCredentials(people ? forPeople(destination) : asJson(destination)),
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

const forTerminals = {
  // As JSON and the command line have it: one clock for all that a cluster of machines writes.
  translateTime: "UTC:yyyy-mm-dd'T'HH:MM:ss.l'Z'",
  messageFormat: '{if worker}(worker {worker}) {end}{if context}[{context}] {end}{msg}',
  customPrettifiers: { stack: (stack: unknown) => `\n${String(stack)}` },
};

/** Turns lines of JSON into lines for people: time, level, who speaks, what. A warning goes without its stack. */
function forPeople(destination: LogOptions['destination'] & object): DestinationStream {
  // To a file or a pipe also when this format was asked for: colours are for terminals.
  const colorize = destination.isTTY === true && isColorSupported;
  const whole = prettyFactory({ ...forTerminals, colorize, ignore: 'context,worker' });
  const brief = prettyFactory({ ...forTerminals, colorize, ignore: 'context,worker,err,stack' });
  const linesOf = (json: string): string => (json.startsWith('{"level":"warn"') ? brief : whole)(json);
  return { write: (json) => destination.write(linesOf(withoutControls(json))) };
}

/**
 * Texts of callers get into messages: what a terminal would obey or show nothing for, line ends and tabs aside, is shown as JSON
 * writes it.
 */
const withoutControls = (json: string): string =>
  terminalJson(json).replace(/\\([\\bfr]|u[\da-f]{4})/g, (escape, code: string) =>
    code === '\\' ? escape : `\\${escape}`,
  );

/** A pipe gets the lines as they are. */
const asJson = (destination: LogOptions['destination'] & object): DestinationStream =>
  destination.isTTY ? { write: (json) => destination.write(terminalJson(json)) } : destination;

const mask = '***';

/**
 * Patterns for places in a line of JSON that may carry what proves the identity of a user. Each keeps what stands
 * before the proof.
 */
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

/** Masks passwords, tokens and cookies in a text. */
export const maskCredentials = (text: string): string =>
  places.reduce((line, place) => line.replace(place, `$1${mask}`), text);

/** Nothing that proves the identity of a user gets into the log, whichever part of the program writes the line. */
function withoutCredentials(destination: DestinationStream): DestinationStream {
  return { write: (line) => destination.write(maskCredentials(line)) };
}

/** The timer of pollers tells of ticks that came late or not at all. Nothing is lost by that: the next tick looks again. */
const lateTick = /^\[Cron\] Missed execution deadline/;

/** Sends lines that libraries write to the console to the log, so that they are in its format and obey its level. */
export function logConsoleLines(logger: LoggerService, target: Pick<Console, 'warn' | 'error'> = console): void {
  const text = (parts: unknown[]): string => parts.map(String).join(' ');
  target.warn = (...parts: unknown[]) => {
    const line = text(parts);
    if (lateTick.test(line)) logger.debug?.(line, 'Pollers');
    else logger.warn(line, 'Console');
  };
  target.error = (...parts: unknown[]) => logger.error(text(parts), undefined, 'Console');
}
