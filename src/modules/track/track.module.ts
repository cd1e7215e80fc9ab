import { Module } from '@nestjs/common';
import { TaskRecordsModule } from '../history/task-records.module.js';
import { TrackController } from './track.controller.js';
import { TrackService } from './track.service.js';

@Module({ imports: [TaskRecordsModule], controllers: [TrackController], providers: [TrackService] })
export class TrackModule {}
