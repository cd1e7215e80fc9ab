import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { SandboxModule } from '../sandbox/sandbox.module.js';
import { ActiveTasksController } from './active-tasks.controller.js';
import { ActiveTasks, TaskLists } from './active-tasks.service.js';
import { ScheduledTasksController } from './scheduled-tasks.controller.js';
import { TaskMetadataController } from './metadata/task-metadata.controller.js';
import { TaskMetadataService } from './metadata/task-metadata.service.js';
import { ScheduledTasks } from './scheduled-tasks.service.js';
import { TaskFilesController } from './task-files.controller.js';
import { TaskFiles } from './task-files.service.js';
import { TaskKills } from './task-kills.service.js';
import { TaskReads } from './task-reads.service.js';
import { TaskStoreModule } from './task-store.module.js';
import { TaskController } from './task.controller.js';

/** Tasks over HTTP: what runs, what waits, and orders to kill. */
@Module({
  imports: [AuthModule, TaskStoreModule, SandboxModule],
  controllers: [
    ActiveTasksController,
    ScheduledTasksController,
    TaskController,
    TaskFilesController,
    TaskMetadataController,
  ],
  providers: [ActiveTasks, TaskLists, TaskReads, ScheduledTasks, TaskKills, TaskFiles, TaskMetadataService],
})
export class TasksModule {}
