import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { Texts } from '../../platform/http/fields.js';

/** Settings that a user has chosen for themselves. */
export class UserSettingsDto {
  /** Ids of the requests they care for. These come first in lists. */
  @IsOptional()
  @Texts('name')
  @ApiProperty({ type: 'array', items: { type: 'string' }, uniqueItems: true })
  starredRequestIds?: string[];
}
