import { IsBoolean, IsNotEmpty, IsOptional, IsString } from 'class-validator';
import { ApiProperty } from '@nestjs/swagger';
import { Texts } from '../../../platform/http/fields.js';

/** Somebody who makes calls. */
export class UserDto {
  /** Id, under which settings are kept. */
  @IsString()
  @IsNotEmpty()
  id: string;
  /** Name to show; the id when no name is known. */
  @IsOptional()
  @IsString()
  name?: string;
  /** E-mail address, recorded with what they do. */
  @IsOptional()
  @IsString()
  email?: string;
  /** Groups they are in, compared with those of requests. */
  @IsOptional()
  @Texts()
  @ApiProperty({ type: 'array', items: { type: 'string' }, uniqueItems: true })
  groups?: string[];
  /** Scopes they have, where scopes count. */
  @IsOptional()
  @Texts()
  @ApiProperty({ type: 'array', items: { type: 'string' }, uniqueItems: true })
  scopes?: string[];
  /** false only for the built-in user, who is nobody in particular. */
  @IsOptional()
  @IsBoolean()
  authenticated?: boolean;
}
