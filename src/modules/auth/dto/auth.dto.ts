import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { accessScopes, type AccessScope } from '../../../core/authorization/index.js';
import { Nested } from '../../../platform/http/fields.js';
import { QueryWord } from '../../../platform/http/query.js';
import { UserSettingsDto } from '../../users/dto/user-settings.dto.js';
import { UserDto } from './user.dto.js';

/** The caller, as the service knows them. */
export class UserHolderDto {
  /** Who they are. */
  user: UserDto;
  /** What they have chosen. Absent until they chose something. */
  settings?: UserSettingsDto;
  /** Always true: whoever gets this answer has been let in. */
  authenticated: boolean;
  /** Whether callers are refused what they may not do. */
  authEnabled: boolean;
}

/** Which token is to be made. */
export class TokenRequestDto {
  /** Text of the token; a random one unless given. */
  @IsOptional()
  @IsString()
  token?: string;
  /** Whose token it becomes; the caller's own unless given. */
  @IsOptional()
  @Nested(() => UserDto)
  user?: UserDto;
}

/** A token that was made. */
export class TokenResponseDto {
  /** Its text, shown this one time. */
  token: string;
  /** Whom it stands for. */
  user: UserDto;
}

/** What is asked about a user and a request. */
export class AuthCheckQuery {
  /** What they want to do to the request. */
  @ApiPropertyOptional({ default: 'READ' })
  @QueryWord(accessScopes)
  scope?: AccessScope;
}
