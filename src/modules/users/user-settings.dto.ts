import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { AnyObject, is, isMap, Texts } from '../../platform/http/fields.js';
import { Since } from '../../platform/http/since.js';
import type { UserSettingsEntity } from './user-settings.entity.js';

/** Kept for a user in all, in bytes as JSON. */
const mostBytes = 16_384;

/** Settings that a user has chosen for themselves. */
export class UserSettingsDto {
  /** Ids of the requests they care for. These come first in lists. */
  @IsOptional()
  @Texts('name')
  @ApiProperty({ type: 'array', items: { type: 'string' }, uniqueItems: true })
  starredRequestIds?: string[];

  /** In answers: what programs such as the dashboard keep for the user. `PUT /api/users/settings/preferences` changes it. */
  @Since('muster')
  @IsOptional()
  @is('readOnly', 'is changed by PUT /api/users/settings/preferences alone', () => false)
  @ApiProperty({ type: 'object', additionalProperties: true, readOnly: true })
  preferences?: Record<string, unknown>;

  /** undefined: they have chosen nothing yet. */
  static of(found: UserSettingsEntity | undefined): UserSettingsDto {
    const { starredRequestIds = [], preferences } = found ?? {};
    return preferences ? { starredRequestIds, preferences: { ...preferences } } : { starredRequestIds };
  }
}

/** What programs keep for a user. */
export class PreferencesDto {
  /** Takes the place of what was kept: any JSON object of at most 16384 bytes. Its members are for those who write them. */
  @IsOptional()
  @AnyObject()
  @is('size', `must have at most ${mostBytes} bytes as JSON`, (value) =>
    isMap(value) ? Buffer.byteLength(JSON.stringify(value)) <= mostBytes : true,
  )
  preferences?: Record<string, unknown>;
}
