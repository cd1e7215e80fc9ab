import { unsupportedInContainer } from '../wire/unsupported.js';
import { DeployFault } from '../artifacts/order.js';

/** A file of variables as engines read it: line by line. */
export const linesOf = (environment: Record<string, string>): string =>
  Object.entries(environment)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

/** Throws for what no line can hold: launches of today were judged before, those of earlier releases were not. */
export function checkLines(environment: Record<string, string>): void {
  const [problem] = unsupportedInContainer('Variable', environment);
  if (problem) throw new DeployFault(`${problem.field} ${problem.message}`);
}
