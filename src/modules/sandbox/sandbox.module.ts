import { Module } from '@nestjs/common';
import { TaskRecordsModule } from '../history/task-records.module.js';
import { SandboxController } from './sandbox.controller.js';
import { SandboxService } from './sandbox.service.js';
import { TaskSandboxes } from './task-sandboxes.service.js';

@Module({
  imports: [TaskRecordsModule],
  controllers: [SandboxController],
  providers: [SandboxService, TaskSandboxes],
  exports: [TaskSandboxes],
})
export class SandboxModule {}
