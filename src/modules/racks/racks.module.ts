import { Module } from '@nestjs/common';
import { SlavesModule } from '../slaves/slaves.module.js';
import { RacksController } from './racks.controller.js';

@Module({ imports: [SlavesModule], controllers: [RacksController] })
export class RacksModule {}
