import { expect, test } from 'vitest';
import { maskSecrets, secretMask } from './secrets.js';

const words = ['password', 'TOKEN'];

test('values of variables with such a name are masked, wherever they stand and in any letters', () => {
  const env = { DB_PASSWORD: 'x', apiToken: 'y', PORT: '80' };
  const masked = { DB_PASSWORD: secretMask, apiToken: secretMask, PORT: '80' };
  expect(
    maskSecrets(
      {
        activeDeploy: { env, taskEnv: { '1': env } },
        list: [{ taskRequest: { pendingTask: { envOverrides: env }, deploy: { env } } }],
        task: {
          environment: {
            variables: [
              { name: 'DB_PASSWORD', value: 'x' },
              { name: 'PORT', value: '80' },
            ],
          },
        },
      },
      words,
    ),
  ).toEqual({
    activeDeploy: { env: masked, taskEnv: { '1': masked } },
    list: [{ taskRequest: { pendingTask: { envOverrides: masked }, deploy: { env: masked } } }],
    task: {
      environment: {
        variables: [
          { name: 'DB_PASSWORD', value: secretMask },
          { name: 'PORT', value: '80' },
        ],
      },
    },
  });
});

test('members that merely have such a name are left alone', () => {
  const answer = { token: 'shown', password: 1, env: undefined, taskEnv: null, variables: 'none' };
  expect(maskSecrets(answer, words)).toEqual(answer);
});

test('what was given is not changed', () => {
  const answer = Object.freeze({ env: Object.freeze({ TOKEN: 'x' }) });
  expect(maskSecrets(answer, words)).toEqual({ env: { TOKEN: secretMask } });
});

test('a variable named like a member of every object stays a variable', () => {
  const env = JSON.parse('{"__proto__": "a", "constructor": "b", "MY_TOKEN": "c"}') as object;
  expect(JSON.stringify(maskSecrets({ env }, words))).toBe(
    `{"env":{"__proto__":"a","constructor":"b","MY_TOKEN":"${secretMask}"}}`,
  );
});

test('without words nothing is masked', () => {
  const answer = { env: { TOKEN: 'x' } };
  expect(maskSecrets(answer, [])).toBe(answer);
});
