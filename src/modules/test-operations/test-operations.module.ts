import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { HistoryModule } from '../history/history.module.js';
import { LeadershipModule } from '../leadership/leadership.module.js';
import { TestOperationsController } from './test-operations.controller.js';
import { TestOperations } from './test-operations.service.js';

/** Operations that break the service on purpose. */
@Module({})
export class TestOperationsModule {
  /** `scheduler`: the module that exports SchedulerControls. A room does not know the scheduler. */
  static on(scheduler: Type): DynamicModule {
    return {
      module: TestOperationsModule,
      imports: [scheduler, HistoryModule, LeadershipModule],
      controllers: [TestOperationsController],
      providers: [TestOperations],
    };
  }
}
