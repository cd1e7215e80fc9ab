import { runChaos } from './chaos.js';
import { readOptions } from './options.js';
import { resultLine, tellResult } from './report.js';

/** `npm run chaos`. Answers the exit code: 0 when nothing was lost, doubled or told that is not so. */
export async function main(argv: string[]): Promise<number> {
  const options = readOptions(argv);
  const interrupted = interruption();
  const say = (line: string): void => console.log(line);
  say(`chaos: ${JSON.stringify(options)}`);
  const result = await runChaos(options, say, interrupted);
  tellResult(result, say);
  say(resultLine('chaos', options, result));
  return result.good && !interrupted.aborted ? 0 : 1;
}

/** Ctrl-C or a SIGTERM ends the faults; everything that was started is ended and removed before this process is. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => controller.abort());
  return controller.signal;
}
