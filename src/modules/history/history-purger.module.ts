import { Module } from '@nestjs/common';
import { HistoryPurger } from './history-purger.service.js';

@Module({ providers: [HistoryPurger], exports: [HistoryPurger] })
export class HistoryPurgerModule {}
