import { expect, test } from 'vitest';
import { tellingLines } from './last-lines.js';

const stack = Array.from({ length: 12 }, (_, index) => `    at Server.listen (node:net:${index})`);

test.each([
  ['short output is shown whole', ['a', 'b'], ['a', 'b']],
  ['of long output the end', ['1', '2', '3', '4', '5', '6'], ['2', '3', '4', '5', '6']],
  [
    'the end, where it names the error',
    [...stack, 'OSError: Address already in use'],
    [...stack.slice(-4), 'OSError: Address already in use'],
  ],
  [
    'the error before its stack as well',
    ['node:events:497', 'Error: listen EADDRINUSE: address already in use 127.0.0.1:80', ...stack],
    ['Error: listen EADDRINUSE: address already in use 127.0.0.1:80', '...', ...stack.slice(-5)],
  ],
  [
    'the last cause of several',
    ['java.lang.Exception: a', ...stack, 'Caused by: java.io.IOException: b', ...stack],
    ['Caused by: java.io.IOException: b', '...', ...stack.slice(-5)],
  ],
])('%s', (_name, lines, shown) => expect(tellingLines(lines)).toEqual(shown));
