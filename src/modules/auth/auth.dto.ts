import { ApiBody, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsNotEmpty, IsOptional, IsString } from 'class-validator';
import { accessScopes, nameOf, type AccessScope, type User } from '../../core/authorization/index.js';
import { Nested, Texts } from '../../platform/http/fields.js';
import { QueryWord } from '../../platform/http/query.js';
import { UserSettingsDto } from '../users/user-settings.dto.js';

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

  static from(user: User): UserDto {
    return { ...user, name: nameOf(user), groups: [...user.groups], scopes: [...user.scopes] };
  }

  /** A token is proof of who its bearer is, so a user who is given one counts as authenticated. */
  static toUser({ id, name, email, groups, scopes }: UserDto): User {
    const unique = (names: readonly string[] = []): string[] => [...new Set(names)];
    return { id, name: name || undefined, email, groups: unique(groups), scopes: unique(scopes), authenticated: true };
  }
}

/** On operations that older clients send themselves along with: who calls is known without that. */
export const IgnoredUserBody = () =>
  ApiBody({ type: UserDto, required: false, description: 'Older clients send one. It is ignored.' });

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
