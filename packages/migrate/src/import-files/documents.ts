import type { Deploy, Resources } from '../../../../src/core/model/deploy.js';
import type { Request } from '../../../../src/core/model/request.js';
import { withoutAbsent } from '../../../../src/core/without-absent.js';
import type { Members } from './members.js';

/** A job of another scheduler, as a request and its deploy. */
export interface ConvertedJob {
  request: Request;
  deploy: Deploy;
  /** What of it was not taken or differs, one sentence each. */
  notes: string[];
}

/** Where the files have texts, as a schema: numbers and yes-or-no words there keep the spelling of the file. */
export const text = { type: 'string' };
export const texts = { items: text };

/** An id of a request: other characters than an id may have become '-'. */
export function idOf(name: string): string {
  const id = name
    .replaceAll(/[^a-zA-Z0-9_-]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 100);
  if (id === '') throw new Error(`no id can be made of the name '${name}': it has no letter and no digit`);
  return id;
}

export const renamed = (id: string, name: string): string[] => (id === name ? [] : [`its name is '${name}' there`]);

/** Deploys of files have one id: applied again, nothing changes. */
export const deployId = 'imported';

/** Runs at once of a job that has no limit there: a request has one. */
export const mostRunsAtOnce = 10;
export const boundedRuns = (member: string): string =>
  `${member} has no limit there: at most ${mostRunsAtOnce} runs at once (instances)`;

/** Resources of a deploy that names none, unless settings say otherwise. One that names some has to name both. */
export const usualResources = { cpus: 1, memoryMb: 64 };

/** undefined: it names none, so that the defaults hold. */
export function resourcesOf(given: Resources, notes: string[]): Resources | undefined {
  const named = Object.fromEntries(Object.entries(given).filter(([, amount]) => amount > 0)) as Resources;
  if (Object.keys(named).length === 0) return undefined;
  for (const member of ['cpus', 'memoryMb'] as const) {
    if (named[member] === undefined) notes.push(`it names no ${member}: ${usualResources[member]}, as usual here`);
  }
  return { ...usualResources, ...named };
}

/** Variables of a list of names and values, which both formats have. */
export function variablesOf(list: Members[], notes: string[]): [name: string, value: string][] {
  return list.flatMap((entry) => {
    const name = entry.text('name');
    if (name === undefined) return [];
    const value = entry.anyText('value');
    if (value !== undefined) return [[name, value]];
    // An entry with its name alone is a variable that is empty.
    if (!entry.has('value') && !entry.has('valueFrom')) return [[name, '']];
    entry.pass('value', 'valueFrom');
    notes.push(`the variable ${name} has no plain value`);
    return [];
  });
}

/** Members of a deploy that say something. */
export const filled = <T extends object>(record: T): T =>
  Object.fromEntries(
    Object.entries(withoutAbsent(record)).filter(([, value]) => typeof value !== 'object' || !isEmpty(value as object)),
  ) as T;
const isEmpty = (value: object): boolean => Object.keys(value).length === 0;
