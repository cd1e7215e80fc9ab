import { describe, expect, test } from 'vitest';
import { cpuMillisOf } from '../../../test/support/cpu-time.js';
import { maskSecrets, secretMask, type SecretRules } from './secrets.js';

const words = ['password', 'TOKEN'];
const all: SecretRules = { hiddenEnvironment: 'ALL', secretEnvNames: words };
const named: SecretRules = { hiddenEnvironment: 'NAMED', secretEnvNames: words };

const env = { DB_PASSWORD: 'x', apiToken: 'y', PORT: '80' };
const answerWith = (map: object, variables: object[]) => ({
  activeDeploy: { env: map, taskEnv: { '1': map } },
  list: [{ taskRequest: { pendingTask: { envOverrides: map }, deploy: { env: map } } }],
  task: { command: { environment: { variables } } },
});
const variables = [
  { name: 'DB_PASSWORD', value: 'x' },
  { name: 'PORT', value: '80' },
];
const hidden = (value: string) => ({ DB_PASSWORD: secretMask, apiToken: secretMask, PORT: value });

test('values of all variables are masked, wherever they stand', () => {
  const masked = variables.map((variable) => ({ ...variable, value: secretMask }));
  expect(maskSecrets(answerWith(env, variables), all)).toEqual(answerWith(hidden(secretMask), masked));
});

test('or those of variables with such a name, in any letters', () => {
  const masked = [{ name: 'DB_PASSWORD', value: secretMask }, variables[1]!];
  expect(maskSecrets(answerWith(env, variables), named)).toEqual(answerWith(hidden('80'), masked));
});

test('variables that a container gets by options are variables', () => {
  const docker = {
    parameters: { env: 'MYSQL_PWD=x', e: 'PORT=80', memory: 'a=b' },
    dockerParameters: [
      { key: 'env', value: 'DB_PASSWORD=x' },
      { key: 'name', value: 'a=b' },
    ],
  };
  expect(maskSecrets({ docker }, all)).toEqual({
    docker: {
      parameters: { env: `MYSQL_PWD=${secretMask}`, e: `PORT=${secretMask}`, memory: 'a=b' },
      dockerParameters: [
        { key: 'env', value: `DB_PASSWORD=${secretMask}` },
        { key: 'name', value: 'a=b' },
      ],
    },
  });
});

describe('of a change that is planned', () => {
  test.each([
    ['deploy.env.COLOUR', 'red', secretMask, 'red'],
    ['deploy.env.DB_PASSWORD', 'x', secretMask, secretMask],
    ['deploy.env["odd-token.name"]', 'x', secretMask, secretMask],
    ['deploy.taskEnv["1"].DB_PASSWORD', 'x', secretMask, secretMask],
    ['deploy.env', { A: 'b' }, secretMask, secretMask],
    ['deploy.containerInfo.docker.parameters.env', 'A=b', secretMask, secretMask],
    ['deploy.arguments[1]', 'x', secretMask, secretMask],
    ['deploy.command', 'run --password=x', `run --password=${secretMask}`, `run --password=${secretMask}`],
    ['deploy.resources.cpus', 1, 1, 1],
    ['request.owners[0]', 'ann', 'ann', 'ann'],
  ])('%s from %j is %j, or %j', (path, from, ofAll, ofNamed) => {
    const to = undefined;
    expect(maskSecrets([{ path, from, to }], all)).toEqual([{ path, from: ofAll, to }]);
    expect(maskSecrets([{ path, from, to }], named)).toEqual([{ path, from: ofNamed, to }]);
  });
});

describe('arguments are marked as secret by the name of their option', () => {
  test.each([
    [
      ['--password=x', '--port=80'],
      [`--password=${secretMask}`, '--port=80'],
    ],
    [
      ['--db-password', 'x', 'y'],
      ['--db-password', secretMask, 'y'],
    ],
    [
      ['-token', 'x'],
      ['-token', secretMask],
    ],
    [
      ['--password', '--verbose', 'x'],
      ['--password', '--verbose', 'x'],
    ],
    [
      ['DB_PASSWORD=x', 'run'],
      [`DB_PASSWORD=${secretMask}`, 'run'],
    ],
    [
      ['password', 'x'],
      ['password', 'x'],
    ],
  ])('%j', (given, expected) => {
    for (const name of ['arguments', 'cmdLineArgsList', 'commandLineArgs', 'extraCmdLineArgs']) {
      expect(maskSecrets({ [name]: given }, all)).toEqual({ [name]: expected });
    }
    // Lists of arguments, as the history answers them.
    expect(maskSecrets([given], named)).toEqual([expected]);
  });

  test.each([
    ['run --password=x --port=80', `run --password=${secretMask} --port=80`],
    ['run --password "x y" go', `run --password ${secretMask} go`],
    ["DB_PASSWORD='x y' run", `DB_PASSWORD=${secretMask} run`],
    ['a && API_TOKEN=x b; c', `a && API_TOKEN=${secretMask} b; c`],
    ['sh -c "TOKEN=x run"', `sh -c "TOKEN=${secretMask} run"`],
    ['--token x', `--token ${secretMask}`],
    ['echo password is x', 'echo password is x'],
  ])('in the command line %j', (given, expected) => {
    expect(maskSecrets({ command: given, executorData: { cmd: given } }, all)).toEqual({
      command: expected,
      executorData: { cmd: expected },
    });
    expect(maskSecrets({ command: { value: given } }, all)).toEqual({ command: { value: expected } });
  });

  test('and a long command line takes no long time', async () => {
    const command = `${'--a '.repeat(100_000)}${'-'.repeat(100_000)}${'x'.repeat(100_000)}${' a='.repeat(50_000)}`;
    expect(await cpuMillisOf(() => maskSecrets({ command }, all))).toBeLessThan(1_000);
  });
});

test('members that merely have such a name are left alone', () => {
  const answer = { token: 'shown', password: 1, env: undefined, taskEnv: null, variables: 'none', parameters: ['a'] };
  expect(maskSecrets(answer, all)).toEqual(answer);
});

test('what was given is not changed', () => {
  const answer = Object.freeze({ env: Object.freeze({ TOKEN: 'x' }) });
  expect(maskSecrets(answer, all)).toEqual({ env: { TOKEN: secretMask } });
});

test('a variable named like a member of every object stays a variable', () => {
  const map = JSON.parse('{"__proto__": "a", "constructor": "b", "MY_TOKEN": "c"}') as object;
  expect(JSON.stringify(maskSecrets({ env: map }, named))).toBe(
    `{"env":{"__proto__":"a","constructor":"b","MY_TOKEN":"${secretMask}"}}`,
  );
});

test('without words nothing named is masked', () => {
  const answer = { env: { TOKEN: 'x' } };
  expect(maskSecrets(answer, { hiddenEnvironment: 'NAMED', secretEnvNames: [] })).toEqual(answer);
});

test.each([
  ['one long word', 'password'.repeat(16_000)],
  ['options without end', '-password '.repeat(13_000)],
  ['quotes', 'password="'.repeat(13_000)],
  ['blanks', `-password${' '.repeat(130_000)}`],
])('a command line of %s is masked in a moment', async (_name, command) => {
  const words = ['password', 'passwd', 'secret', 'token', 'key', 'credential'];
  const masked = () => maskSecrets({ command }, { hiddenEnvironment: 'NAMED', secretEnvNames: words });
  expect(await cpuMillisOf(masked)).toBeLessThan(1_000);
});

test('what a program answered to a health check is not shown', () => {
  const results = [{ statusCode: 200, responseBody: 'INTERNAL-ONLY-DATA' }, { statusCode: 500 }];
  const masked = [{ statusCode: 200, responseBody: secretMask }, { statusCode: 500 }];
  const none: SecretRules = { hiddenEnvironment: 'NAMED', secretEnvNames: [] };
  for (const rules of [all, named, none])
    expect(maskSecrets({ healthcheckResults: results }, rules)).toEqual({ healthcheckResults: masked });
});
