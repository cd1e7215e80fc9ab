import { Module } from '@nestjs/common';
import { TaskStoreModule } from '../task-store.module.js';
import { CheckedTasks } from './checked-tasks.service.js';
import { HealthMonitor } from './health-monitor.service.js';
import { LivenessMonitor } from './liveness-monitor.service.js';
import { NewTaskCheckPoller } from './new-task-check.poller.js';
import { SickTasks } from './sick-tasks.service.js';
import { TaskChecker } from './task-checker.service.js';

/** Health: asks tasks whether they are healthy, and orders those away that never become so, or no longer are. */
@Module({
  imports: [TaskStoreModule],
  providers: [CheckedTasks, HealthMonitor, LivenessMonitor, NewTaskCheckPoller, SickTasks, TaskChecker],
})
export class TaskHealthModule {}
