import { Module } from '@nestjs/common';
import { InactiveHostStoreModule } from '../inactive/inactive-host-store.module.js';
import { RequestStoreModule } from '../requests/request-store.module.js';
import { TaskStoreModule } from '../tasks/task-store.module.js';
import { ExpiringMachines } from './expiring-machines.service.js';
import { FleetComparison } from './fleet-comparison.service.js';
import { FleetHousekeeping } from './fleet-housekeeping.service.js';
import { MachineChanges } from './machine-changes.service.js';
import { MachineReads } from './machine-reads.service.js';
import { MachineRemoval } from './machine-removal.service.js';
import { MachineStates } from './machine-states.service.js';
import { MachineStore } from './machine-store.service.js';
import { MachineTasks } from './machine-tasks.service.js';
import { MachinesPoller } from './machines.poller.js';
import { Machines } from './machines.service.js';
import { SlavesController } from './slaves.controller.js';

/** Machines: what the cluster says about them and what operators decide. Racks share all of it. */
@Module({
  imports: [InactiveHostStoreModule, RequestStoreModule, TaskStoreModule],
  controllers: [SlavesController],
  providers: [
    MachineStore,
    MachineStates,
    MachineTasks,
    MachineRemoval,
    Machines,
    MachineReads,
    MachineChanges,
    ExpiringMachines,
    MachinesPoller,
    FleetComparison,
    FleetHousekeeping,
  ],
  exports: [Machines, MachineReads, MachineChanges, MachinesPoller, FleetComparison, FleetHousekeeping],
})
export class SlavesModule {}
