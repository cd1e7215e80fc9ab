import { Module } from '@nestjs/common';
import { FleetComparison } from './fleet-comparison.service.js';
import { InactiveController } from './inactive-hosts/inactive-hosts.controller.js';
import { InactiveMachines } from './inactive-hosts/inactive-machines.service.js';
import { MachineChanges } from './machine-changes.service.js';
import { MachineReads } from './machine-reads.service.js';
import { MachineRemoval } from './machine-removal.service.js';
import { MachineReports } from './machine-reports.service.js';
import { MachineStates } from './machine-states.service.js';
import { MachineTasks } from './machine-tasks.service.js';
import { MachinesPoller } from './machines.poller.js';
import { RacksController } from './racks.controller.js';
import { SlavesController } from './slaves.controller.js';

/** Machines: what the cluster says about them and what operators decide. Racks share all of it. */
@Module({
  controllers: [SlavesController, RacksController, InactiveController],
  providers: [
    MachineStates,
    MachineTasks,
    MachineRemoval,
    MachineReports,
    MachineReads,
    MachineChanges,
    MachinesPoller,
    FleetComparison,
    InactiveMachines,
  ],
  exports: [
    MachineReports,
    MachineReads,
    MachineChanges,
    MachinesPoller,
    FleetComparison,
    MachineRemoval,
    InactiveMachines,
  ],
})
export class SlavesModule {}
