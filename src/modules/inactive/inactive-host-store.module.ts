import { Module } from '@nestjs/common';
import { InactiveHosts } from './inactive-hosts.service.js';

/** The rows of inactive hosts, for the room of the slaves. */
@Module({ providers: [InactiveHosts], exports: [InactiveHosts] })
export class InactiveHostStoreModule {}
