import { Module } from '@nestjs/common';
import { PriorityStoreModule } from '../priority/priority-store.module.js';
import { HostStates } from './host-states.service.js';
import { ReconciliationFiguresModule } from './reconciliation-figures.module.js';
import { StateStore } from './state-store.service.js';
import { StateController } from './state.controller.js';
import { StateService } from './state.service.js';

@Module({
  imports: [ReconciliationFiguresModule, PriorityStoreModule],
  controllers: [StateController],
  providers: [StateService, StateStore, HostStates],
})
export class StateModule {}
