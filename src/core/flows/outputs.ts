import { isStorable } from '../storable-text.js';

/** File in its sandbox in which a task tells its followers something. */
export const outputsFile = 'outputs.json';
/** Bytes of that file. */
export const mostOutputBytes = 8_192;

/** Texts that a run tells those that follow it, by name; `problem`: why its file was not taken. */
export interface Outputs {
  values: Record<string, string>;
  problem?: string;
}

/** Parts of names that may stand in the name of a variable. */
const namePattern = /^[A-Za-z0-9_.-]{1,100}$/;

/** `content`: the file up to one byte more than it may have; undefined: there is none. */
export function readOutputs(content: Buffer | undefined): Outputs {
  if (content === undefined) return { values: {} };
  const refused = (why: string): Outputs => ({ values: {}, problem: `${outputsFile} ${why}` });
  if (content.length > mostOutputBytes) return refused(`has more than ${mostOutputBytes} bytes`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
  } catch {
    return refused('is no JSON in UTF-8');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return refused('is no JSON object');
  for (const [name, value] of Object.entries(parsed)) {
    if (!namePattern.test(name)) {
      return refused(`has a name that is not 1 to 100 letters, digits, '_', '.' and '-'`);
    }
    if (variableOf(name) === parentRunsVariable) return refused(`has a member of a reserved name: ${name}`);
    if (typeof value !== 'string' || !isStorable(value)) return refused(`has a member that is no text: ${name}`);
  }
  return { values: parsed as Record<string, string> };
}

const prefix = 'TASK_PARENT_';
/** Variable with the ids of the tasks that a run follows. */
export const parentRunsVariable = `${prefix}RUNS`;

const variableOf = (name: string): string => prefix + name.toUpperCase().replaceAll(/[^A-Z0-9_]/g, '_');

/** Variables for a run that follows others: of parents that tell the same, the later one counts. */
export const parentVariables = (parents: readonly Record<string, string>[]): Record<string, string> =>
  Object.fromEntries(
    parents.flatMap((values) => Object.entries(values)).map(([name, value]) => [variableOf(name), value]),
  );

/** The variables without those of parents, which a run gets anew each time. */
export const withoutParentVariables = (variables: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => !name.startsWith(prefix)));
