import { Module } from '@nestjs/common';
import { RequestStoreModule } from '../requests/request-store.module.js';
import { TaskStoreModule } from '../tasks/task-store.module.js';
import { ExpiringMachines } from './expiring-machines.service.js';
import { MachineChanges } from './machine-changes.service.js';
import { MachineReads } from './machine-reads.service.js';
import { MachineStore } from './machine-store.service.js';
import { MachineTasks } from './machine-tasks.service.js';
import { MachinesPoller } from './machines.poller.js';
import { Machines } from './machines.service.js';
import { SlavesController } from './slaves.controller.js';

/** Machines: what the cluster says about them and what operators decide. Racks share all of it. */
@Module({
  imports: [RequestStoreModule, TaskStoreModule],
  controllers: [SlavesController],
  providers: [MachineStore, Machines, MachineReads, ExpiringMachines, MachineTasks, MachineChanges, MachinesPoller],
  exports: [Machines, MachineReads, MachineChanges, MachinesPoller],
})
export class SlavesModule {}
