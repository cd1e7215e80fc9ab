import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { FlowReads } from './flow-reads.service.js';
import { FlowReruns } from './flow-reruns.service.js';
import { FlowsController } from './flows.controller.js';

/** Flows over HTTP: what ran after what, and running it again. */
@Module({ imports: [AuthModule], controllers: [FlowsController], providers: [FlowReads, FlowReruns] })
export class FlowsModule {}
