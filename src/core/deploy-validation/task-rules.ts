import type { FieldError } from '../field-error.js';
import { type DeployRule, problem } from './context.js';

/** As names of containers and of files. */
const namePattern = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const longestName = 40;

/** Names of the main program. */
const reservedNames: readonly string[] = ['main', 'task'];

/** Programs around the main one: each with a name of its own, which its files and its container have, too. */
export const taskRule: DeployRule = ({ tasks, executorData }) => {
  if (!tasks) return [];
  const { init = [], sidecars = [], post = [] } = tasks;
  const programs = Object.entries({ init, sidecars, post }).flatMap(([list, members]) =>
    members.map((member, index) => ({ ...member, field: `tasks.${list}.${index}` })),
  );
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
        !namePattern.test(name),
        `${field}.name`,
        'pattern',
        "may contain small letters, digits and '-' only, which neither begins nor ends it",
      ),
      ...problem(
        name.length > longestName,
        `${field}.name`,
        'length',
        `must be at most ${longestName} characters long`,
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
