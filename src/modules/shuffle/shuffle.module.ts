import { Module } from '@nestjs/common';
import { ShuffleStoreModule } from './shuffle-store.module.js';
import { ShuffleController } from './shuffle.controller.js';
import { ShuffleService } from './shuffle.service.js';

@Module({ imports: [ShuffleStoreModule], controllers: [ShuffleController], providers: [ShuffleService] })
export class ShuffleModule {}
