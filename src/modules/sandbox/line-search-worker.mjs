/*
 * Runs as a thread of LineSearch, as it stands here: the build copies it. Answers each {text, expression} with the lines that
 * match, each {text, expression, first} with where the first match begins, or with what is wrong with the expression.
 */
import { parentPort } from 'node:worker_threads';
import { RE2JS } from 're2js';

parentPort.on('message', ({ text, expression, first }) =>
  parentPort.postMessage(first ? findFirst(text, expression) : search(text, expression)),
);

/** @param {string} text @param {string} expression */
function search(text, expression) {
  const pattern = compile(expression);
  if (typeof pattern === 'string') return { problem: pattern };
  const lines = text.split('\n');
  // Text that ends with a newline ends with its last line, not with an empty one.
  if (lines.at(-1) === '') lines.pop();
  const found = lines.filter((line) => pattern.matcher(line).find());
  return { lines: found.map((line) => `${line}\n`).join('') };
}

/** @param {string} text @param {string} expression */
function findFirst(text, expression) {
  const pattern = compile(expression);
  if (typeof pattern === 'string') return { problem: pattern };
  const matcher = pattern.matcher(text);
  return { at: matcher.find() ? matcher.start() : -1 };
}

/** @param {string} expression */
function compile(expression) {
  try {
    return RE2JS.compile(expression);
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
}
