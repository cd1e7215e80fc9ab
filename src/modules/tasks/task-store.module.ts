import { Module } from '@nestjs/common';
import { HealthSwitch } from './health/health-switch.service.js';
import { BeforeKills, ShellCommandRules } from './shell-commands/before-kills.service.js';
import { TaskIdsByStatusService } from './task-ids-by-status.service.js';

const rules = [HealthSwitch, BeforeKills, ShellCommandRules, TaskIdsByStatusService];

/** Rules about tasks beyond their rows, for other rooms. */
@Module({
  providers: rules,
  exports: rules,
})
export class TaskStoreModule {}
