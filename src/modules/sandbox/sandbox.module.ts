import { Module } from '@nestjs/common';
import { SandboxController } from './sandbox.controller.js';
import { SandboxService } from './sandbox.service.js';
import { TaskSandboxes } from './task-sandboxes.service.js';

@Module({
  controllers: [SandboxController],
  providers: [SandboxService, TaskSandboxes],
  exports: [TaskSandboxes],
})
export class SandboxModule {}
