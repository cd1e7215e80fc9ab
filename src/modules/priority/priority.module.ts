import { Module } from '@nestjs/common';
import { TaskStoreModule } from '../tasks/task-store.module.js';
import { FreezeExpiryPoller, PriorityKillsPoller } from './priority-freeze.poller.js';
import { PriorityController } from './priority.controller.js';
import { PriorityService } from './priority.service.js';

/** The priority freeze: set, ended by hand or by time, and what it kills. */
@Module({
  imports: [TaskStoreModule],
  controllers: [PriorityController],
  providers: [PriorityService, FreezeExpiryPoller, PriorityKillsPoller],
})
export class PriorityModule {}
