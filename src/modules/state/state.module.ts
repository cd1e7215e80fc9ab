import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { LeadershipModule } from '../leadership/leadership.module.js';
import { StateController } from './state.controller.js';
import { StateService } from './state.service.js';

@Module({
  imports: [AuthModule, LeadershipModule],
  controllers: [StateController],
  providers: [StateService],
  exports: [StateService],
})
export class StateModule {}
