import { Inject, Injectable } from '@nestjs/common';
import type { ShellCommand } from '../../../core/model/request.js';
import { refuseCommand } from '../../../core/shell-commands/index.js';
import { SchedulerError } from '../../../platform/errors.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';

/** Which commands may be run, as the settings say. */
@Injectable()
export class ShellCommandRules {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** Throws unless the command may run. `field`: where it stands in the body, '' for the whole of it. */
  refuse(command: ShellCommand | undefined, field: string): void {
    const refusal = command && refuseCommand(command, this.settings.ui.shellCommands, field);
    if (!refusal) return;
    if (refusal.kind === 'INVALID') throw SchedulerError.invalid('INVALID_REQUEST', refusal.errors);
    const { error } = refusal;
    throw new SchedulerError('UNKNOWN_SHELL_COMMAND', error.message, { errors: [error] });
  }

  /** The same for the command of an order that ends tasks. */
  refuseBeforeKill(command: ShellCommand | undefined): void {
    this.refuse(command, 'runShellCommandBeforeKill');
  }
}
