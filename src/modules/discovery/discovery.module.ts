import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { TaskStoreModule } from '../tasks/task-store.module.js';
import { DiscoveryController } from './discovery.controller.js';
import { DnsResponder } from './dns-responder.service.js';
import { ServiceReads } from './service-reads.service.js';

/** Service discovery: where the calls of a service go, for programs, proxies and DNS. */
@Module({
  imports: [AuthModule, TaskStoreModule],
  controllers: [DiscoveryController],
  providers: [ServiceReads, DnsResponder],
})
export class DiscoveryModule {}
