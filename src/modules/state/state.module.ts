import { Module } from '@nestjs/common';
import { DirectoryModule } from '../auth/directory/directory.module.js';
import { PriorityStoreModule } from '../priority/priority-store.module.js';
import { LeadershipModule } from '../leadership/leadership.module.js';
import { ReconciliationFiguresModule } from './reconciliation-figures.module.js';
import { StateStore } from './state-store.service.js';
import { StateController } from './state.controller.js';
import { StateService } from './state.service.js';

@Module({
  imports: [DirectoryModule, ReconciliationFiguresModule, PriorityStoreModule, LeadershipModule],
  controllers: [StateController],
  providers: [StateService, StateStore],
  exports: [StateService],
})
export class StateModule {}
