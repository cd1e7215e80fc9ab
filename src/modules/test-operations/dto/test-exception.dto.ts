import { ApiPropertyOptional } from '@nestjs/swagger';
import { QueryText } from '../../../platform/http/query.js';

/** Describes the failure. */
export class TestExceptionQuery {
  /** Message of the error, for the log. */
  @ApiPropertyOptional({ default: 'test exception' })
  @QueryText('message')
  message?: string;
}
