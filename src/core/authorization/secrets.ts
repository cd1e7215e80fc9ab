/** Stands where a value was. */
export const secretMask = '********';

/** Rules for the parts of an answer that its caller may not see. */
export interface SecretRules {
  /** Hidden variables of the environment: ALL of them, or those NAMED like a secret. */
  hiddenEnvironment: 'ALL' | 'NAMED';
  /** A variable is named like a secret when its name contains one of these, in capital or small letters. */
  secretEnvNames: readonly string[];
}

/** Members that map names of environment variables to their values. */
const maps = new Set(['env', 'envOverrides']);
/** Members that hold one such map per instance. */
const mapsByInstance = new Set(['taskEnv']);
/** Members that list variables as {name, value}. */
const lists = new Set(['variables']);
/** Options of a container's program that set a variable: `NAME=value`. */
const containerOptions = new Set(['e', 'env']);
const optionMaps = new Set(['parameters']);
/** Answers of a program to a health check, whatever they contain. */
const answers = new Set(['responseBody']);
/** Members with a command line as one text. */
const commandLines = new Set(['command', 'cmd', 'customExecutorCmd', 'value']);

type Members = Readonly<Record<string, unknown>>;
/** True unless the value writes itself as something else than its members, such as a date. */
const isRecord = (value: unknown): value is Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && !('toJSON' in value);
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');

/** Copies an answer without its secret values. Parts without any are handed over as they are. */
export function maskSecrets(answer: unknown, rules: SecretRules): unknown {
  let masking = maskings.get(rules);
  if (!masking) maskings.set(rules, (masking = new Masking(rules)));
  return masking.walk(answer);
}

class Masking {
  private readonly words: readonly string[];
  private readonly assignments: RegExp | undefined;
  constructor(private readonly rules: SecretRules) {
    this.words = rules.secretEnvNames.map((word) => word.toLowerCase());
    this.assignments = assignmentsOf(this.words);
  }

  walk(value: unknown): unknown {
    if (isTexts(value)) return this.maskArguments(value);
    if (Array.isArray(value)) return value.map((one) => this.walk(one));
    if (!isRecord(value)) return value;
    if (isChange(value)) return this.maskChange(value);
    if (containerOptions.has(String(value['key']))) return { ...value, value: this.maskSetting(value['value']) };
    return mapValues(value, (member, name) => this.maskMember(member, name));
  }

  private maskMember(member: unknown, name: string): unknown {
    if (answers.has(name)) return typeof member === 'string' ? secretMask : member;
    if (maps.has(name)) return this.maskMap(member);
    if (mapsByInstance.has(name)) return isRecord(member) ? mapValues(member, (map) => this.maskMap(map)) : member;
    if (lists.has(name) && Array.isArray(member)) return member.map((one: unknown) => this.maskEntry(one));
    if (optionMaps.has(name) && isRecord(member)) {
      return mapValues(member, (value, key) => (containerOptions.has(key) ? this.maskSetting(value) : value));
    }
    if (commandLines.has(name) && typeof member === 'string') return this.maskText(member);
    return this.walk(member);
  }

  private maskMap(map: unknown): unknown {
    return isRecord(map) ? mapValues(map, (value, name) => (this.isHidden(name) ? secretMask : value)) : map;
  }

  private maskEntry(entry: unknown): unknown {
    return isRecord(entry) && this.isHidden(entry['name']) ? { ...entry, value: secretMask } : entry;
  }

  /** `NAME=value`. */
  private maskSetting(text: unknown): unknown {
    if (typeof text !== 'string') return text;
    const name = text.split('=', 1)[0]!;
    return name.length < text.length && this.isHidden(name) ? `${name}=${secretMask}` : text;
  }

  /** A field of a document as it is and as it would be. */
  private maskChange(change: Members): Members {
    const place = placeOf(change['path'] as string);
    if (place === undefined) return change;
    const { kind, name } = place;
    const mask = (value: unknown): unknown => {
      if (kind === 'commandLine') return typeof value === 'string' ? this.maskText(value) : value;
      if (kind === 'variable' && !this.isHidden(name)) return value;
      return value === undefined || value === null ? value : secretMask;
    };
    return mapValues(change, (value, member) => (member === 'path' ? value : mask(value)));
  }

  /** Arguments are marked as secret by the option that they belong to: `--db-password=x`, or `--db-password` and `x`. */
  private maskArguments(list: readonly string[]): string[] {
    return list.map((text, index) => {
      const before = list[index - 1];
      const isValueOfSecret = before !== undefined && /^--?[\w.-]+$/.test(before) && this.isNamedSecret(before);
      return isValueOfSecret && !text.startsWith('-') ? secretMask : this.maskText(text);
    });
  }

  private maskText(text: string): string {
    if (!this.assignments) return text;
    return text.replaceAll(this.assignments, (_all, before: string, name: string) => `${before}${name}${secretMask}`);
  }

  private isHidden(name: unknown): boolean {
    return this.rules.hiddenEnvironment === 'ALL' || (typeof name === 'string' && this.isNamedSecret(name));
  }

  private isNamedSecret(name: string): boolean {
    const plain = name.toLowerCase();
    return this.words.some((word) => plain.includes(word) || plain.replaceAll('-', '_').includes(word));
  }
}

/**
 * In a command line: a name with one of these words, with dashes or not, `=` and a value; or dashes, the name, and the value
 * as the next word.
 */
function assignmentsOf(words: readonly string[]): RegExp | undefined {
  if (words.length === 0) return undefined;
  const word = words.map((one) => one.replaceAll(/[^\w-]/g, '\\$&').replaceAll(/[_-]/g, '[_-]')).join('|');
  // Names end somewhere: without a bound one long word would be looked at once from each of its letters.
  const name = `[\\w.-]{0,200}?(?:${word})[\\w.-]{0,200}`;
  const value = `(?:"[^"]*"|'[^']*'|[^\\s;&|"']+)`;
  return new RegExp(`(^|[\\s;&|"'(])(${name}=|-${name}\\s+(?!-))${value}`, 'gi');
}

const isChange = (value: Members): boolean =>
  typeof value['path'] === 'string' && (Object.hasOwn(value, 'from') || Object.hasOwn(value, 'to'));

/** Target of a path such as `deploy.env.COLOUR` or `deploy.arguments[0]`, if it may be secret. */
function placeOf(path: string): { kind: 'variable' | 'value' | 'commandLine'; name?: string } | undefined {
  const variable = /(?:^|\.)(?:env|envOverrides|taskEnv(?:\.\w+|\[[^\]]*\]))(?:\.(\w+)|\["(.*)"\])$/.exec(path);
  if (variable) return { kind: 'variable', name: variable[1] ?? variable[2] };
  if (/(?:^|\.)(?:env|envOverrides|taskEnv)\b/.test(path)) return { kind: 'value' };
  if (/\.parameters\.(?:e|env)$|\.dockerParameters\[\d+\]\.value$/.test(path)) return { kind: 'value' };
  // Which option an argument belongs to is not to be seen from it alone.
  if (/\.(?:arguments|extraCmdLineArgs)\[\d+\]$/.test(path)) return { kind: 'value' };
  return /\.(?:command|cmd|customExecutorCmd)$/.test(path) ? { kind: 'commandLine' } : undefined;
}

/** The rules are those of the settings, and lists ask once per entry. */
const maskings = new WeakMap<SecretRules, Masking>();

const mapValues = (record: Members, change: (value: unknown, name: string) => unknown): Members =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));
