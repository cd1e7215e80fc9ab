import { Module } from '@nestjs/common';
import { FailoverController } from './failover.controller.js';
import { AgentReach } from './agent-reach.service.js';
import { Failovers } from './failovers.service.js';
import { InstancePoller, Instances, ThisHost } from './instances.service.js';

/** The instances of this service, and which of them leads. */
@Module({
  controllers: [FailoverController],
  providers: [AgentReach, Instances, InstancePoller, ThisHost, Failovers],
  exports: [Failovers, Instances],
})
export class LeadershipModule {}
