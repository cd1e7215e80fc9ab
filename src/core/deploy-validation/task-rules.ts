import type { FieldError } from '../field-error.js';
import { programNames, programsAround } from '../model/deploy-tasks.js';
import { type DeployRule, problem } from './context.js';

/** Names of the main program. */
const reservedNames: readonly string[] = ['main', 'task'];

/** Programs around the main one: each with a name of its own, which its files and its container have, too. */
export const taskRule: DeployRule = ({ tasks, executorData }) => {
  if (!tasks) return [];
  const programs = programsAround(tasks);
  const names = programs.map(({ name }) => name);
  return [
    ...problem(programs.length === 0, 'tasks', 'required', 'must have at least one of init, sidecars and post'),
    ...problem(
      executorData !== undefined,
      'tasks',
      'exclusive',
      'may not be given together with executorData: its start script runs one program',
    ),
    ...programs.flatMap(({ name, command, field }, index): FieldError[] => [
      ...problem(
        !programNames.pattern.test(name),
        `${field}.name`,
        'pattern',
        "may contain small letters, digits and '-' only, which neither begins nor ends it",
      ),
      ...problem(
        name.length > programNames.longest,
        `${field}.name`,
        'length',
        `must be at most ${programNames.longest} characters long`,
      ),
      ...problem(reservedNames.includes(name), `${field}.name`, 'reserved', 'names the main program, and no other one'),
      ...problem(
        names.indexOf(name) < index,
        `${field}.name`,
        'unique',
        `is '${name}', as of another program of the task`,
      ),
      ...problem(command.trim() === '', `${field}.command`, 'required', 'is required'),
    ]),
  ];
};
