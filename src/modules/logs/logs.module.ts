import { Module } from '@nestjs/common';
import { LogItems } from './log-items.service.js';
import { LogSearches } from './log-searches.service.js';
import { LogsController } from './logs.controller.js';
import { LogsService } from './logs.service.js';
import { ObjectStore } from './object-store.service.js';

/** The logs of tasks in the object store. */
@Module({
  controllers: [LogsController],
  providers: [LogsService, LogSearches, LogItems, ObjectStore],
})
export class LogsModule {}
