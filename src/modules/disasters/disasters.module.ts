import { Module } from '@nestjs/common';
import { DisasterFigures } from './disaster-figures.service.js';
import { DisastersController } from './disasters.controller.js';
import { DisastersPoller } from './disasters.poller.js';
import { DisastersService } from './disasters.service.js';

/** Disasters: found or declared, and the actions that are switched off. */
@Module({
  controllers: [DisastersController],
  providers: [DisastersService, DisasterFigures, DisastersPoller],
})
export class DisastersModule {}
