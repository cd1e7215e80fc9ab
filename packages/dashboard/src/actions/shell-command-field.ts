import { shellCommands } from '../view';
import type { Field, Values } from './action';

/** Offered where the settings name commands. */
export const shellBeforeKill: readonly Field[] =
  shellCommands.length === 0
    ? []
    : [
        {
          kind: 'choice',
          name: 'shellCommand',
          label: 'Run first in each task',
          initial: '',
          choices: [['', 'Nothing'], ...shellCommands.map(({ name }) => [name, name] as const)],
        },
      ];

export function killCommand(values: Values): { runShellCommandBeforeKill?: { name: string } } {
  const name = values.text('shellCommand');
  return name === undefined ? {} : { runShellCommandBeforeKill: { name } };
}
