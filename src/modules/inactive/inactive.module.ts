import { Module } from '@nestjs/common';
import { InactiveHostStoreModule } from './inactive-host-store.module.js';
import { InactiveMachines } from './inactive-machines.service.js';
import { InactiveController } from './inactive.controller.js';

/** Hosts on which nothing is to run. */
@Module({ imports: [InactiveHostStoreModule], controllers: [InactiveController], providers: [InactiveMachines] })
export class InactiveModule {}
