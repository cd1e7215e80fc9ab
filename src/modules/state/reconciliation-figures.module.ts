import { Module } from '@nestjs/common';
import { ReconciliationFigures } from './reconciliation-figures.service.js';

/** For the scheduler, which writes these figures, and for the state, which shows them. */
@Module({ providers: [ReconciliationFigures], exports: [ReconciliationFigures] })
export class ReconciliationFiguresModule {}
