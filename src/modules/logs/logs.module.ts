import { Module } from '@nestjs/common';
import { LogItems } from './log-items.service.js';
import { LogObjectController } from './log-object.controller.js';
import { LogSearches } from './log-searches.service.js';
import { LogsController } from './logs.controller.js';
import { LogsService } from './logs.service.js';
import { ObjectLinks } from './object-links.service.js';
import { ObjectStore } from './object-store.service.js';

/** The logs of tasks in the object store. */
@Module({
  controllers: [LogsController, LogObjectController],
  providers: [LogsService, LogSearches, LogItems, ObjectStore, ObjectLinks],
})
export class LogsModule {}
