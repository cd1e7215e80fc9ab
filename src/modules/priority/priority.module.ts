import { Module } from '@nestjs/common';
import { RequestStoreModule } from '../requests/request-store.module.js';
import { TaskStoreModule } from '../tasks/task-store.module.js';
import { FreezeExpiryPoller } from './freeze-expiry.poller.js';
import { PriorityKillsPoller } from './priority-kills.poller.js';
import { PriorityStoreModule } from './priority-store.module.js';
import { PriorityController } from './priority.controller.js';
import { PriorityService } from './priority.service.js';

/** The priority freeze: set, ended by hand or by time, and what it kills. */
@Module({
  imports: [PriorityStoreModule, RequestStoreModule, TaskStoreModule],
  controllers: [PriorityController],
  providers: [PriorityService, FreezeExpiryPoller, PriorityKillsPoller],
})
export class PriorityModule {}
