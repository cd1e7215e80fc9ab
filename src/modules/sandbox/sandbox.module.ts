import { Module } from '@nestjs/common';
import { LineSearch } from './line-search.service.js';
import { SandboxController } from './sandbox.controller.js';
import { SandboxService } from './sandbox.service.js';
import { TaskSandboxes } from './task-sandboxes.service.js';

@Module({
  controllers: [SandboxController],
  providers: [LineSearch, SandboxService, TaskSandboxes],
  exports: [TaskSandboxes, LineSearch],
})
export class SandboxModule {}
