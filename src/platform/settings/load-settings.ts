import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { didYouMean } from '../../core/did-you-mean.js';
import { StartError } from '../errors.js';
import { fileProblem } from '../file-problem.js';
import { AskCredentials } from './gate-settings.js';
import { mostWorkers } from './http-settings.js';
import { olderSettings } from './older-settings.js';
import { logFormats, logLevels, type Settings, SettingsFile } from './settings.js';

/** Settings of the command line; they win over the environment. */
export interface Flags {
  port?: string;
  host?: string;
  dataDir?: string;
  config?: string;
  keepTasks?: boolean;
}

export interface SettingsSources {
  environment: Record<string, string | undefined>;
  flags?: Flags;
}

/** The message has everything that is wrong, by name, on one line when there is only one thing. */
export class SettingsError extends StartError {
  override readonly name = 'SettingsError';

  constructor(readonly problems: readonly string[]) {
    super(
      problems.length === 1
        ? `Cannot start: ${problems[0]}`
        : `Cannot start, fix these settings:\n  ${problems.join('\n  ')}`,
    );
  }
}

const flag = z.enum(['true', 'false', '1', '0']).transform((text) => text === 'true' || text === '1');

/** One entry per environment variable: the only place that knows their names, next to their checks. */
const Environment = z.object({
  MUSTER_PORT: z.coerce
    .number({ error: ({ code }) => (code === 'invalid_type' ? 'must be a port number' : undefined) })
    .int()
    .min(0)
    .max(65_535)
    .default(7099),
  MUSTER_HOST: z.string().default('127.0.0.1'),
  MUSTER_ADVERTISED_URL: z
    .url({ protocol: /^https?$/, error: 'must be a URL such as http://scheduler-1:7099' })
    .refine((url) => !/[?#@]/.test(url), 'must have no user, no query and no fragment')
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'must be a URL such as postgres://user:password@host:5432/database' })
    .optional(),
  MUSTER_DATA_DIR: z.string().default('.muster'),
  MUSTER_CONFIG: z.string().optional(),
  MUSTER_ALLOW_TEST_RESOURCE_CALLS: flag.optional(),
  MUSTER_HTTP_WORKERS: z.coerce.number('must be a number of processes').int().min(0).max(mostWorkers).optional(),
  MUSTER_CLUSTER: z.enum(['local', 'kubernetes']).default('local'),
  MUSTER_KEEP_TASKS: flag.optional(),
  MUSTER_LOG_LEVEL: z.enum(logLevels).optional(),
  MUSTER_LOG_FORMAT: z.enum(logFormats).optional(),
});

const nameOfFlag: Record<string, string> = {
  MUSTER_PORT: '--port',
  MUSTER_HOST: '--host',
  MUSTER_DATA_DIR: '--data-dir',
  MUSTER_CONFIG: '--config',
};

/** Reads everything that can be set, once. Throws one SettingsError that names all that is wrong. */
export function loadSettings({ environment, flags = {} }: SettingsSources): Settings {
  const fromFlags = present({
    MUSTER_PORT: flags.port,
    MUSTER_HOST: flags.host,
    MUSTER_DATA_DIR: flags.dataDir,
    MUSTER_CONFIG: flags.config,
  });
  const given = { ...present(environment), ...fromFlags };
  const checked = Environment.safeParse(given);
  const nameOf = (variable: string): string => (variable in fromFlags ? nameOfFlag[variable]! : variable);
  const problems = checked.success ? [] : describeIssues(checked.error, given, nameOf);

  const file = readFile(given['MUSTER_CONFIG'], nameOf('MUSTER_CONFIG'), problems);
  const settings = SettingsFile.safeParse(file ?? {});
  if (!settings.success) problems.push(...describeIssues(settings.error, file));

  const credentials = withVariables(settings.data?.gates.credentials, environment, problems);

  if (problems.length > 0 || !checked.success || !settings.success) throw new SettingsError(problems);
  const { data } = checked;
  return {
    ...settings.data,
    port: data.MUSTER_PORT,
    host: data.MUSTER_HOST,
    advertisedUrl: data.MUSTER_ADVERTISED_URL,
    databaseUrl: data.DATABASE_URL,
    dataDir: resolve(data.MUSTER_DATA_DIR),
    allowTestResourceCalls: data.MUSTER_ALLOW_TEST_RESOURCE_CALLS ?? settings.data.allowTestResourceCalls,
    gates: { ...settings.data.gates, ...(credentials && { credentials }) },
    http: { ...settings.data.http, workers: data.MUSTER_HTTP_WORKERS ?? settings.data.http.workers },
    clusterDriver: data.MUSTER_CLUSTER,
    agent: {
      ...settings.data.agent,
      keepTasks: flags.keepTasks ?? data.MUSTER_KEEP_TASKS ?? settings.data.agent.keepTasks,
    },
    log: {
      level: data.MUSTER_LOG_LEVEL ?? settings.data.log.level,
      format: data.MUSTER_LOG_FORMAT ?? settings.data.log.format,
    },
  };
}

/** Credentials with the secrets that stand in variables. */
function withVariables(
  credentials: Record<string, AskCredentials> | undefined,
  environment: SettingsSources['environment'],
  problems: string[],
): Record<string, AskCredentials> | undefined {
  if (!credentials) return undefined;
  const entries = Object.entries(credentials).map(([address, { secretVariable, ...rest }]) => {
    if (secretVariable === undefined) return [address, rest];
    const read = AskCredentials.safeParse({ ...rest, secret: environment[secretVariable] });
    if (!read.success) problems.push(`gates.credentials.${address}: ${secretVariable} is not set, or is no secret`);
    return [address, { ...rest, ...read.data }];
  });
  return Object.fromEntries(entries) as Record<string, AskCredentials>;
}

/** Compose files and shells pass an empty value for what is not given. */
function present(values: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => !!entry[1]));
}

/** YAML reads JSON too. */
function readFile(path: string | undefined, name: string, problems: string[]): unknown {
  if (path === undefined) return {};
  try {
    return parse(new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))) ?? {};
  } catch (cause) {
    const [reason] = fileProblem(cause).split('\n');
    problems.push(`${name}: cannot read ${path}: ${reason}`);
    return {};
  }
}

function describeIssues(error: z.ZodError, given: unknown, rename = (name: string) => name): string[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.join('.');
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.flatMap((key) => unknownSettings([...issue.path, key], given));
    }
    return `${rename(path) || 'The settings file'}: ${brokenRule(issue, valueAt(given, issue.path))}`;
  });
}

const valueAt = (given: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce((at: unknown, key) => (at as Record<PropertyKey, unknown> | null | undefined)?.[key], given);

const kinds: Readonly<Record<string, string>> = {
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  string: 'a text',
  array: 'a list',
  object: 'a map',
  record: 'a map',
};

/** The rule as refusals of calls word it, with the value unless that may be a secret; words of the schema itself stay. */
function brokenRule(issue: z.core.$ZodIssue, value: unknown): string {
  const isWorded = !/^(Invalid (input|option)|Too (small|big)): /.test(issue.message);
  switch (issue.code) {
    case 'invalid_type': {
      if (value === undefined) return 'is required';
      const kind = kinds[issue.expected];
      const isSecret = issue.expected === 'string';
      if (kind === undefined && !isWorded) return issue.message;
      return `${isWorded ? issue.message : `must be ${kind}`}${isSecret ? '' : notThis(value)}`;
    }
    case 'invalid_value':
      return isWorded ? issue.message : `must be one of ${issue.values.join(', ')}${notThis(value)}`;
    case 'too_small':
      if (isWorded || typeof value === 'object' || issue.origin === 'string') return issue.message;
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${notThis(value)}`;
    case 'too_big':
      if (isWorded || typeof value === 'object' || issue.origin === 'string') return issue.message;
      return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${notThis(value)}`;
    default:
      return issue.message;
  }
}

const longestShown = 60;
function notThis(value: unknown): string {
  const shown = JSON.stringify(value);
  return shown === undefined || shown.length > longestShown || typeof value === 'object' ? '' : `, not ${shown}`;
}

/** With what became of it, where an older installation had it; of a section that is gone, each of its keys. */
function unknownSettings(path: readonly PropertyKey[], file: unknown): string[] {
  const name = path.join('.');
  const told = (key: string): string => {
    const became = Object.hasOwn(olderSettings, key) ? olderSettings[key] : undefined;
    if (became !== undefined) return `${key}: there is no such setting any more: ${became}`;
    if (Object.hasOwn(variables, key))
      return `${key}: there is no such setting; set ${variables[key]} in the environment`;
    const meant = meantBy(key);
    return `${key}: there is no such setting${meant === undefined ? '' : `; did you mean '${meant}'?`}`;
  };
  const isSection = Object.keys(olderSettings).some((key) => key.startsWith(`${name}.`));
  const value = isSection
    ? path.reduce((at: unknown, key) => (at as Record<PropertyKey, unknown>)[key], file)
    : undefined;
  const keys = value !== null && typeof value === 'object' ? Object.keys(value) : [];
  return keys.length > 0 ? keys.map((key) => told(`${name}.${key}`)) : [told(name)];
}

/** Settings of the environment, by what they are called in settings files of other programs. */
const variables: Readonly<Record<string, string>> = {
  port: 'MUSTER_PORT',
  host: 'MUSTER_HOST',
  hostname: 'MUSTER_HOST',
  advertisedUrl: 'MUSTER_ADVERTISED_URL',
  database: 'DATABASE_URL',
  databaseUrl: 'DATABASE_URL',
  dataDir: 'MUSTER_DATA_DIR',
  clusterDriver: 'MUSTER_CLUSTER',
};

interface SettingsSchema {
  properties?: Record<string, SettingsSchema>;
}

/** The setting that was probably meant: one of a similar name beside it, or one of its name in another section. */
function meantBy(key: string): string | undefined {
  const names = [
    ...settingNames(z.toJSONSchema(SettingsFile, { io: 'input', unrepresentable: 'any' }) as SettingsSchema),
  ];
  const [, section = '', last = ''] = /^(.*\.)?([^.]*)$/.exec(key) ?? [];
  const beside = names.filter((name) => name.startsWith(section) && !name.slice(section.length).includes('.'));
  const near = didYouMean(
    last,
    beside.map((name) => name.slice(section.length)),
  );
  return near === undefined ? names.find((name) => name.endsWith(`.${last}`)) : section + near;
}

/** With their sections, which are names as well. */
function* settingNames({ properties = {} }: SettingsSchema, section = ''): Generator<string> {
  for (const [name, member] of Object.entries(properties)) {
    yield section + name;
    yield* settingNames(member, `${section}${name}.`);
  }
}
