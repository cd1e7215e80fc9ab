import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { requestEventTypes, type RequestEventType } from '../../../core/model/enums.js';
import { RequestDto } from '../../requests/dto/request.dto.js';

/** One change of a request. */
export class RequestHistoryDto {
  /** When, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  createdAt: number;
  /** Who made it. */
  user?: string;
  /** What was changed. */
  @ApiProperty({ enum: requestEventTypes, enumName: 'RequestEventType' })
  eventType: RequestEventType;
  /** The request as it was after the change; absent only when an older installation left a record that cannot be read. */
  request?: RequestDto;
  /** What was said about it. */
  message?: string;
}

/** One page of changes of a request. */
@ApiSchema({ name: 'PaginatedResponseOfRequestHistoryDto' })
export class RequestHistoryPageDto {
  /** How many there are in all. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  dataCount: number;
  /** How many pages that makes. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  pageCount: number;
  /** Which page this is, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  page: number;
  /** The changes of this page. */
  objects: RequestHistoryDto[];
}
