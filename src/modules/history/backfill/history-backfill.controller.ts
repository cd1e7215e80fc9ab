import { Controller, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Query } from '../../../platform/http/inputs.js';
import { BackfillQuery } from '../dto/queries.dto.js';
import { HistoryBackfill } from './history-backfill.service.js';

const defaultBatchSize = 20;

@ApiTags('History')
@Controller('api/history')
export class HistoryBackfillController {
  constructor(private readonly backfill: HistoryBackfill) {}

  /**
   * Starts to turn the history of an older installation into JSON, in the background. Answers at once, and changes
   * nothing while a run is under way.
   */
  @Post('sql-backfill')
  @HttpCode(200)
  start(@Query() { batchSize = defaultBatchSize }: BackfillQuery): Promise<void> {
    return this.backfill.start(batchSize);
  }
}
