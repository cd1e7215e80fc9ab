import { expect, test } from 'vitest';
import { mostOutputBytes, parentVariables, readOutputs, withoutParentVariables } from './index.js';

test.each<[string, string | Buffer | undefined, string | undefined]>([
  ['no file', undefined, undefined],
  ['texts', '{"rows":"12","day":""}', undefined],
  ['a file as long as may be', `{"a":"${'x'.repeat(mostOutputBytes - 8)}"}`, undefined],
  ['a longer file', `{"a":"${'x'.repeat(mostOutputBytes - 7)}"}`, 'outputs.json has more than 8192 bytes'],
  ['a number', '{"rows":12}', 'outputs.json has a member that is no text: rows'],
  ['the character NUL', '{"a":"\\u0000"}', 'outputs.json has a member that is no text: a'],
  [
    'a name that no variable has',
    '{"a b":"1"}',
    `outputs.json has a name that is not 1 to 100 letters, digits, '_', '.' and '-'`,
  ],
  ['the ids of parents', '{"Runs":"x"}', 'outputs.json has a member of a reserved name: Runs'],
  ['a list', '["a"]', 'outputs.json is no JSON object'],
  ['half of it', '{"a":', 'outputs.json is no JSON in UTF-8'],
  ['bytes', Buffer.from([0x22, 0xff, 0x22]), 'outputs.json is no JSON in UTF-8'],
])('%s', (_name, content, problem) => {
  const read = readOutputs(content === undefined ? undefined : Buffer.from(content));
  expect(read.problem).toBe(problem);
  expect(read.values).toEqual(problem === undefined && content !== undefined ? JSON.parse(String(content)) : {});
});

test('become variables, of which the later parent counts, and which go when the run goes again', () => {
  const variables = parentVariables([{ rows: '1', 'per-day': '2' }, { Rows: '3' }]);
  expect(variables).toEqual({ TASK_PARENT_ROWS: '3', TASK_PARENT_PER_DAY: '2' });
  expect(withoutParentVariables({ OWN: 'x', ...variables })).toEqual({ OWN: 'x' });
});
