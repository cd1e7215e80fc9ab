import { RE2JS } from 're2js';
import { SchedulerError } from '../../platform/errors.js';

/**
 * Keeps the lines that match. The engine needs time linear in the text for every expression, so that no caller can
 * stop the service with one; the price is that it knows no back references and no look-around.
 */
export function grepLines(text: string, expression: string): string {
  const pattern = compile(expression);
  const lines = text.split('\n');
  // Text that ends with a newline ends with its last line, not with an empty one.
  if (lines.at(-1) === '') lines.pop();
  return lines
    .filter((line) => pattern.matcher(line).find())
    .map((line) => `${line}\n`)
    .join('');
}

function compile(expression: string): RE2JS {
  try {
    return RE2JS.compile(expression);
  } catch (cause) {
    const message = `grep is not a regular expression: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'grep', rule: 'pattern', message }]);
  }
}
