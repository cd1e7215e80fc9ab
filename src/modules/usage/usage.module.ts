import { Module } from '@nestjs/common';
import { FiguresOfAgents } from './agent-figures.service.js';
import { Sampler } from './sampler.service.js';
import { ShuffleController } from './shuffle.controller.js';
import { ShuffleService } from './shuffle.service.js';
import { Shuffler } from './shuffler.service.js';
import { UsageReads } from './usage-reads.service.js';
import { UsageController } from './usage.controller.js';
import { UsageCleaner, UsagePoller } from './usage.poller.js';
import { Utilizations } from './utilizations.service.js';

/** Use of slaves, tasks and requests, and the requests that are exempt from being moved because of it. */
@Module({
  controllers: [ShuffleController, UsageController],
  providers: [FiguresOfAgents, Sampler, Utilizations, Shuffler, ShuffleService, UsageReads, UsagePoller, UsageCleaner],
})
export class UsageModule {}
