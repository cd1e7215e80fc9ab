import { existsSync, readFileSync } from 'node:fs';
import { killSignals } from '../../src/core/model/enums.js';

/** A script that writes the signal by which it is asked to end into the file $NOTES, and ends. `first`: its first act. */
export function notingSignals(first: string): string {
  const traps = killSignals.map((signal) => {
    const name = signal.slice('SIG'.length);
    return `trap 'echo ${name} >>"$NOTES"; exit 0' ${name}`;
  });
  return `${traps.join('; ')}; ${first}; while :; do sleep 1 & wait; done`;
}

/** Lines of a file; none if it is not there. */
export const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
