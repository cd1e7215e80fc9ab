import { Module } from '@nestjs/common';
import { TaskStoreModule } from '../task-store.module.js';
import { ShellCommandPoller } from './shell-command.poller.js';
import { ShellCommandsController } from './shell-commands.controller.js';
import { ShellCommands } from './shell-commands.service.js';

/** Shell commands: what users run in live tasks. */
@Module({
  imports: [TaskStoreModule],
  controllers: [ShellCommandsController],
  providers: [ShellCommands, ShellCommandPoller],
})
export class ShellCommandsModule {}
