import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { millisOfUnit, numberSettings } from '../../../test/support/number-settings.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { LocalClusterSettings } from '../../agent/settings.js';
import { loadSettings, SettingsError, type SettingsSources } from './load-settings.js';
import { olderSettings } from './older-settings.js';
import { SettingsFile } from './settings.js';

function file(name: string, text: string): string {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  writeFileSync(join(path, name), text);
  return join(path, name);
}

function problems(sources: Partial<SettingsSources>): readonly string[] {
  try {
    loadSettings({ environment: {}, ...sources });
  } catch (cause) {
    if (cause instanceof SettingsError) return cause.problems;
    throw cause;
  }
  throw new Error('Nothing is wrong with it');
}

test('with nothing given, everything has its default', () => {
  expect(loadSettings({ environment: {} })).toEqual({
    ...SettingsFile.parse({}),
    port: 7099,
    host: '127.0.0.1',
    databaseUrl: undefined,
    dataDir: join(process.cwd(), '.muster'),
    allowTestResourceCalls: false,
    clusterDriver: 'local',
    log: { level: 'info', format: 'auto' },
  });
});

test('tasks are kept as the flag says, else the environment, else the file', () => {
  const MUSTER_CONFIG = file('settings.json', '{"agent": {"keepTasks": true}}');
  const kept = (environment: Record<string, string>, keepTasks?: boolean) =>
    loadSettings({ environment, flags: { keepTasks } }).agent.keepTasks;
  expect(kept({})).toBe(false);
  expect(kept({ MUSTER_CONFIG })).toBe(true);
  expect(kept({ MUSTER_CONFIG, MUSTER_KEEP_TASKS: 'false' })).toBe(false);
  expect(kept({ MUSTER_KEEP_TASKS: '1' })).toBe(true);
  expect(kept({ MUSTER_KEEP_TASKS: '1' }, false)).toBe(false);
  expect(kept({}, true)).toBe(true);
});

test('the sample file is taken as it is', () => {
  const sample = new URL('../../../examples/settings.yml', import.meta.url).pathname;
  const settings = loadSettings({ environment: { MUSTER_CONFIG: sample } });
  expect(settings.auth).toMatchObject({ enabled: true, adminGroups: ['ops'] });
  expect(settings.cluster.maxNumCpusPerInstance).toBe(16);
});

test('the environment is read, an empty value counts as not given', () => {
  const environment = {
    MUSTER_PORT: '0',
    MUSTER_HOST: '',
    DATABASE_URL: 'postgresql://a:b@c:1/d',
    MUSTER_LOG_LEVEL: 'debug',
  };
  expect(loadSettings({ environment })).toMatchObject({
    port: 0,
    host: '127.0.0.1',
    databaseUrl: 'postgresql://a:b@c:1/d',
    log: { level: 'debug', format: 'auto' },
  });
});

test.each([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])('MUSTER_ALLOW_TEST_RESOURCE_CALLS=%s is %s', (text, expected) => {
  const settings = loadSettings({ environment: { MUSTER_ALLOW_TEST_RESOURCE_CALLS: text } });
  expect(settings.allowTestResourceCalls).toBe(expected);
});

test('operations for tests are off unless the file or the environment allows them, and the environment wins', () => {
  const allowed = (environment: Record<string, string>) => loadSettings({ environment }).allowTestResourceCalls;
  const MUSTER_CONFIG = file('settings.json', '{"allowTestResourceCalls": true}');
  expect(allowed({})).toBe(false);
  expect(allowed({ MUSTER_CONFIG })).toBe(true);
  expect(allowed({ MUSTER_CONFIG, MUSTER_ALLOW_TEST_RESOURCE_CALLS: 'false' })).toBe(false);
});

describe('gates.credentials', () => {
  const load = (credentials: unknown, environment: Record<string, string> = {}) =>
    loadSettings({
      environment: { ...environment, MUSTER_CONFIG: file('settings.json', JSON.stringify({ gates: { credentials } })) },
    }).gates.credentials;
  const address = 'https://prometheus.example/api';

  test('have their secret in the file, in a file of its own or in a variable', () => {
    const given = {
      [address]: { username: 'muster', secretVariable: 'PROMETHEUS_PASSWORD' },
      'http://a.example': { secretFile: '/run/secrets/a', groups: ['shop'] },
      'http://b.example': { secret: 'token' },
    };
    expect(load(given, { PROMETHEUS_PASSWORD: 'geheim' })).toEqual({
      ...given,
      [address]: { username: 'muster', secret: 'geheim' },
    });
  });

  test.each<[string, unknown, string]>([
    ['no secret', { [address]: {} }, 'needs exactly one of secret, secretFile and secretVariable'],
    [
      'two',
      { [address]: { secret: 'a', secretFile: 'b' } },
      'needs exactly one of secret, secretFile and secretVariable',
    ],
    ['a variable that is not set', { [address]: { secretVariable: 'NONE' } }, 'NONE is not set, or is no secret'],
    ['a variable with a line break', { [address]: { secretVariable: 'LINES' } }, 'LINES is not set, or is no secret'],
    ['a secret with a line break', { [address]: { secret: 'first\nsecond' } }, 'must be one line of printable'],
    ['a secret that is a number', { [address]: { secret: 47_114_711 } }, 'must be a text'],
    ['a user with a colon', { [address]: { username: 'a:b', secret: 'c' } }, 'must be a name without a colon'],
    ['another scheme', { 'ftp://a': { secret: 'a' } }, 'must be an http or https URL without user, query and fragment'],
    [
      'a user in the address',
      { 'http://a@b': { secret: 'a' } },
      'must be an http or https URL without user, query and',
    ],
    ['no address', { prometheus: { secret: 'a' } }, 'must be an http or https URL without user, query and fragment'],
    ['an unknown member', { [address]: { secret: 'a', token: 'b' } }, 'token'],
  ])('with %s are refused, and no secret is told', (_name, credentials, problem) => {
    const MUSTER_CONFIG = file('settings.json', JSON.stringify({ gates: { credentials } }));
    const [first] = problems({ environment: { MUSTER_CONFIG, LINES: 'first\nsecond' } });
    expect(first).toContain('gates.credentials');
    expect(first).toContain(problem);
    expect(first).not.toMatch(/second|47114711/);
  });
});

test('the command line wins over the environment', () => {
  const environment = { MUSTER_PORT: '1000', MUSTER_DATA_DIR: '/a' };
  expect(loadSettings({ environment, flags: { port: '2000' } })).toMatchObject({ port: 2000, dataDir: '/a' });
});

test.each([
  ['settings.yaml', 'maxDeployIdSize: 20\ncluster:\n  defaultCpus: 0.5\n'],
  ['settings.json', '{"maxDeployIdSize": 20, "cluster": {"defaultCpus": 0.5}}'],
])('a file %s changes what it names and nothing else', (name, text) => {
  const settings = loadSettings({ environment: { MUSTER_CONFIG: file(name, text) } });
  expect(settings).toMatchObject({ maxDeployIdSize: 20, maxRequestIdSize: 100 });
  expect(settings.cluster).toMatchObject({ defaultCpus: 0.5, defaultMemory: 64 });
});

test('an empty file says nothing', () => {
  expect(loadSettings({ environment: { MUSTER_CONFIG: file('empty.yaml', '# nothing yet\n') } }).port).toBe(7099);
});

describe('what is wrong is named', () => {
  test('all at once, wherever it comes from', () => {
    const config = file(
      'wrong.yaml',
      'maxDeployIdSize: long\nnonsense: 1\ncluster:\n  defaultCpus: -1\n  colour: red\n',
    );
    const found = problems({
      environment: {
        MUSTER_CONFIG: config,
        DATABASE_URL: 'mysql://x',
        MUSTER_CLUSTER: 'moon',
        MUSTER_LOG_LEVEL: 'loud',
      },
      flags: { port: '99999' },
    });
    const names = found.map((problem) => problem.split(': ')[0]);
    expect(names.sort()).toEqual([
      '--port',
      'DATABASE_URL',
      'MUSTER_CLUSTER',
      'MUSTER_LOG_LEVEL',
      'cluster.colour',
      'cluster.defaultCpus',
      'maxDeployIdSize',
      'nonsense',
    ]);
  });

  test.each([
    [
      'a file that is not there',
      { MUSTER_CONFIG: '/nowhere/settings.yaml' },
      /^MUSTER_CONFIG: cannot read \/nowhere\/settings.yaml: there is no such file$/,
    ],
    ['a port that is no number', { MUSTER_PORT: 'http' }, /^MUSTER_PORT: must be a port number, not "http"$/],
    ['a port that is too large', { MUSTER_PORT: '99999' }, /^MUSTER_PORT: must be at most 65535, not "99999"$/],
  ])('%s', (_name, environment, expected) => {
    const [problem, ...others] = problems({ environment });
    expect(problem).toMatch(expected);
    expect(others).toEqual([]);
  });

  test('a file that a flag names, by the flag', () =>
    expect(problems({ environment: {}, flags: { config: '/nowhere/settings.yaml' } })).toEqual([
      '--config: cannot read /nowhere/settings.yaml: there is no such file',
    ]));

  const rootProblem =
    'ui.baseUrl: must be empty, a path such as /jobs, or a URL such as https://muster.example.com/jobs';
  test.each([
    ['checkDeploysEverySeconds: ten', 'checkDeploysEverySeconds: must be a number, not "ten"'],
    ['agent: { keepTasks: maybe }', 'agent.keepTasks: must be true or false, not "maybe"'],
    ['agent: on', 'agent: must be a map, not "on"'],
    ['ui: { baseUrl: 5 }', 'ui.baseUrl: must be a text'],
    ['ui: { baseUrl: ftp://muster.example.com }', rootProblem],
    ['ui: { baseUrl: "https://muster.example.com?x=1" }', rootProblem],
    ['ui: { baseUrl: "/east#x" }', rootProblem],
    ['ui: { baseUrl: "https://host:99999" }', rootProblem],
    ['ui: { baseUrl: "https://" }', rootProblem],
    ['ui: { baseUrl: "https:///x" }', rootProblem],
    ['ui: { baseUrl: "https://u:p@muster.example.com" }', rootProblem],
    ['ui: { baseUrl: "https://*.example.com" }', rootProblem],
    ['log: { level: loud }', 'log.level: must be one of error, warn, info, debug, trace, not "loud"'],
    ['maxDeployIdSize: 1.5', 'maxDeployIdSize: must be a whole number, not 1.5'],
    ['smtp: { host: mail, from: a@example.com, password: 12345 }', 'smtp.password: must be a text'],
  ])('%s', (text, problem) =>
    expect(problems({ environment: { MUSTER_CONFIG: file('settings.yaml', text) } })).toEqual([problem]),
  );

  test('a file that is not YAML, on one line', () => {
    const [problem, ...others] = problems({ environment: { MUSTER_CONFIG: file('broken.yaml', 'a: [1,\nb: }') } });
    expect(problem).toMatch(/^MUSTER_CONFIG: cannot read /);
    expect(problem).not.toContain('\n');
    expect(others).toEqual([]);
  });

  test('a file that is not UTF-8', () => {
    const path = file('latin1.yaml', '');
    writeFileSync(path, Buffer.from('ui: { title: caf\xe9 }', 'latin1'));
    const [problem, ...others] = problems({ environment: { MUSTER_CONFIG: path } });
    expect(problem).toMatch(/^MUSTER_CONFIG: cannot read .*: it is not text in UTF-8$/);
    expect(others).toEqual([]);
  });

  test('what is wrong with a record in a list, by its place', () => {
    const slaves = '[{ id: a, cpus: 0, memoryMb: 1 }]';
    const MUSTER_CONFIG = file('slaves.yaml', `cluster: { local: { slaves: ${slaves} } }`);
    expect(problems({ environment: { MUSTER_CONFIG } })).toEqual([
      'cluster.local.slaves.0.cpus: must be more than 0, not 0',
    ]);
  });

  test('one problem is one line, several are listed', () => {
    expect(new SettingsError(['a: x']).message).toBe('Cannot start: a: x');
    expect(new SettingsError(['a: x', 'b: y']).message).toBe('Cannot start, fix these settings:\n  a: x\n  b: y');
  });
});

describe('every number', () => {
  const all = [SettingsFile, LocalClusterSettings].flatMap(numberSettings);
  const lastDate = 253_402_300_799_999;

  test('has a least and a greatest value', () => {
    expect(all.length).toBeGreaterThan(130);
    const without = all.filter(
      ({ minimum, exclusiveMinimum, maximum }) =>
        (minimum ?? exclusiveMinimum ?? Number.MIN_SAFE_INTEGER) <= Number.MIN_SAFE_INTEGER ||
        (maximum ?? Number.MAX_SAFE_INTEGER) >= Number.MAX_SAFE_INTEGER,
    );
    expect(without.map(({ name }) => name)).toEqual([]);
  });

  test('that is a time, added to the present one or taken from it, is a date', () => {
    const times = all.flatMap((setting) => {
      const unit = millisOfUnit(setting);
      return unit === undefined ? [] : [{ name: setting.name, millis: (setting.maximum ?? Infinity) * unit }];
    });
    expect(times.length).toBeGreaterThan(70);
    expect(times.filter(({ millis }) => Date.now() + 2 * millis > lastDate || Date.now() - millis < -lastDate)).toEqual(
      [],
    );
  });

  test('that goes to a timer of Node fits into one', () => {
    const timeouts = all.filter(({ name }) => /timeout(Millis|Ms)$|checkThreadsEveryMillis/i.test(name));
    expect(timeouts.length).toBeGreaterThan(10);
    expect(timeouts.filter(({ maximum = Infinity }) => maximum >= 2 ** 31)).toEqual([]);
  });

  test.each([
    ['checkDeploysEverySeconds: 9000000000000000', 'checkDeploysEverySeconds'],
    ['deltaAfterWhichTasksAreLateMillis: 9000000000000000', 'deltaAfterWhichTasksAreLateMillis'],
    ['cluster: {local: {sandboxRetentionMillis: 9000000000000000}}', 'cluster.local.sandboxRetentionMillis'],
  ])('%s is refused by its name and its limit', (text, key) => {
    const [problem, ...others] = problems({ environment: { MUSTER_CONFIG: file('settings.yaml', text) } });
    expect(others).toEqual([]);
    expect(problem).toContain(key);
    expect(problem).toMatch(/must be at most \d{5,}, not \d+$/);
  });
});

test.each([
  ['gibberish: x', 'gibberish: there is no such setting'],
  ['hostname: x', 'hostname: there is no such setting; set MUSTER_HOST in the environment'],
  [
    'checkDeploysEverySecond: 5',
    "checkDeploysEverySecond: there is no such setting; did you mean 'checkDeploysEverySeconds'?",
  ],
  ['agent: {keepTask: true}', "agent.keepTask: there is no such setting; did you mean 'agent.keepTasks'?"],
  ['keepTasks: true', "keepTasks: there is no such setting; did you mean 'agent.keepTasks'?"],
])('%s is refused with the setting that was probably meant', (text, problem) =>
  expect(problems({ environment: { MUSTER_CONFIG: file('settings.yaml', text) } })).toEqual([problem]),
);

describe('keys of an older installation', () => {
  const page = readFileSync(new URL('../../../docs/migration.md', import.meta.url), 'utf8');
  const nested = (key: string): object =>
    key.split('.').reduceRight<object>((inner, name) => ({ [name]: inner }), 1 as never);

  test.each(Object.entries(olderSettings))('%s is refused with what docs/migration.md says of it', (key, became) => {
    const MUSTER_CONFIG = file('settings.json', JSON.stringify(nested(key)));
    expect(problems({ environment: { MUSTER_CONFIG } })).toEqual([
      `${key}: there is no such setting any more: ${became}`,
    ]);
    expect(page.split('\n').map((line) => line.replace(/ +\|/g, ' |'))).toContain(`| \`${key}\` | ${became} |`);
  });

  test('the page has no further ones', () => {
    const listed = [...page.matchAll(/^\| `([\w.]+)` +\| it is /gm)].map(([, key]) => key);
    expect(listed).toEqual(Object.keys(olderSettings));
  });

  test('a section that is gone is told key by key, and what nobody ever had as such', () => {
    const MUSTER_CONFIG = file(
      'settings.json',
      '{"customExecutor": {"numCpus": 1, "nope": 2}, "webhookQueue": {}, "constructor": 1}',
    );
    expect(problems({ environment: { MUSTER_CONFIG } })).toEqual([
      expect.stringMatching(/^customExecutor.numCpus: there is no such setting any more: it is gone/),
      'customExecutor.nope: there is no such setting',
      'webhookQueue: there is no such setting',
      'constructor: there is no such setting',
    ]);
  });
});
