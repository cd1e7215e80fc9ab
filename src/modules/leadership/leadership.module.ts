import { Module } from '@nestjs/common';
import { FailoverController } from './failover.controller.js';
import { Failovers } from './failovers.service.js';
import { InstancePoller } from './instance.poller.js';
import { Instances } from './instances.service.js';
import { StatusDelaysModule } from './status-delays.module.js';
import { ThisHost } from './this-host.service.js';

/** The instances of this service, and which of them leads. */
@Module({
  imports: [StatusDelaysModule],
  controllers: [FailoverController],
  providers: [Instances, InstancePoller, ThisHost, Failovers],
  exports: [Instances],
})
export class LeadershipModule {}
