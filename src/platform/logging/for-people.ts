import type { DestinationStream } from 'pino';

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
export function forPeople(destination: DestinationStream): DestinationStream {
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
