import { ApiProperty } from '@nestjs/swagger';
import { crashLoopTypes, type CrashLoopType } from '../../../core/model/enums.js';
import type { CrashLoopInfo } from '../../../core/model/crash-loop.js';

/** A deploy whose tasks fail again and again. */
export class CrashLoopInfoDto implements CrashLoopInfo {
  /** The request. */
  requestId: string;
  /** Its active deploy. */
  deployId: string;
  /** Time of the first failure that counts, or of the latest one of a FAST_FAILURE_LOOP, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  start: number;
  /** Time at which it was found to be over, in epoch milliseconds; absent: it goes on. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  end?: number;
  /** In which way its tasks fail. */
  @ApiProperty({ enum: crashLoopTypes, enumName: 'CrashLoopType' })
  type: CrashLoopType;
}
