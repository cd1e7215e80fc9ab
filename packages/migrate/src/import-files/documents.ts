import type { Deploy } from '../../../../src/core/model/deploy.js';
import type { Request } from '../../../../src/core/model/request.js';

/** A job of another scheduler, as a request and its deploy. */
export interface ConvertedJob {
  request: Request;
  deploy: Deploy;
  /** What of it was not taken, one sentence each. */
  notes: string[];
}

export const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const textsOf = (value: unknown): string[] => listOf(value).filter((each) => typeof each === 'string');

/** An id of a request: other characters than an id may have become '-'. */
export const idOf = (name: string): string =>
  name
    .replaceAll(/[^a-zA-Z0-9_-]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 100);

/** Deploys of files have one id: applied again, nothing changes. */
export const deployId = 'imported';

/** Runs at once of a job that has no limit there: a request has one. */
export const mostRunsAtOnce = 10;
export const boundedRuns = (member: string): string =>
  `${member} has no limit there: at most ${mostRunsAtOnce} runs at once (instances)`;

/** Variables of a list of names and values, which both formats have. */
export function variablesOf(list: unknown, notes: string[]): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const entry of listOf(list).filter(isMap)) {
    const name = textOf(entry['name']);
    const { value } = entry;
    if (name === undefined) continue;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      variables[name] = String(value);
    else notes.push(`the variable ${name} has no plain value`);
  }
  return variables;
}
