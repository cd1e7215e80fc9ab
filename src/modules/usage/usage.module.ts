import { Module } from '@nestjs/common';
import { DeployStoreModule } from '../deploys/deploy-store.module.js';
import { RequestStoreModule } from '../requests/request-store.module.js';
import { ShuffleStoreModule } from '../shuffle/shuffle-store.module.js';
import { SlavesModule } from '../slaves/slaves.module.js';
import { TaskStoreModule } from '../tasks/task-store.module.js';
import { SampleStore } from './sample-store.service.js';
import { Sampler } from './sampler.service.js';
import { ShuffleScene } from './shuffle-scene.service.js';
import { Shuffler } from './shuffler.service.js';
import { UsageCleaner } from './usage-cleaner.poller.js';
import { UsageReads } from './usage-reads.service.js';
import { UsageStoreModule } from './usage-store.module.js';
import { UsageController } from './usage.controller.js';
import { UsagePoller } from './usage.poller.js';
import { Utilizations } from './utilizations.service.js';

@Module({
  imports: [UsageStoreModule, DeployStoreModule, RequestStoreModule, ShuffleStoreModule, SlavesModule, TaskStoreModule],
  controllers: [UsageController],
  providers: [SampleStore, Sampler, Utilizations, ShuffleScene, Shuffler, UsageReads, UsagePoller, UsageCleaner],
})
export class UsageModule {}
