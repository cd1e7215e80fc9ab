import { ApiBody, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsEmpty, IsNotEmpty, IsOptional } from 'class-validator';
import { accessScopes, nameOf, type AccessScope, type User } from '../../core/authorization/index.js';
import { Nested, Text, Texts, Timestamp } from '../../platform/http/fields.js';
import { QueryBoolean, QueryText, QueryWord } from '../../platform/http/query.js';
import { UserSettingsDto } from '../users/user-settings.dto.js';
import type { AuthTokenEntity } from './tokens/auth-token.entity.js';
import { Since } from '../../platform/http/since.js';

const longestTokenName = 100;
/** With the rest of its body it is short enough to be read of somebody who is not known yet (AccessGuard). */
const longestSentToken = 8_000;

/** The user who makes a call. */
export class UserDto {
  /** Id, under which settings are kept. */
  @Text('name')
  @IsNotEmpty()
  id: string;
  /** Name to show; the id when no name is known. */
  @IsOptional()
  @Text('name')
  name?: string;
  /** E-mail address, recorded with what they do. */
  @IsOptional()
  @Text('name')
  email?: string;
  /** Groups they are in, compared with those of requests. */
  @IsOptional()
  @Texts('name')
  @ApiProperty({ type: 'array', items: { type: 'string' }, uniqueItems: true })
  groups?: string[];
  /** Scopes they have, where scopes count. */
  @IsOptional()
  @Texts('name')
  @ApiProperty({ type: 'array', items: { type: 'string' }, uniqueItems: true })
  scopes?: string[];
  /** false only for the built-in user, who stands for no particular person. */
  @IsOptional()
  @IsBoolean()
  authenticated?: boolean;

  static from(user: User): UserDto {
    const { id, email, groups, scopes, authenticated } = user;
    return { id, name: nameOf(user), email, groups: [...groups], scopes: [...scopes], authenticated };
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

/** What a browser is signed in with. */
export class NewSessionDto {
  /** A token of this service, or of the OIDC provider. */
  @IsNotEmpty()
  @Text('uri', longestSentToken)
  token: string;
}

/** The caller, as the service knows them. */
export class UserHolderDto {
  /** User that they are. */
  user: UserDto;
  /** Settings that they have chosen. Absent until they chose something. */
  settings?: UserSettingsDto;
  /** Always true: a caller who gets this answer has been let in. */
  authenticated: boolean;
  /** True if callers are refused what they may not do. */
  authEnabled: boolean;
  /** Whether they may do the work of administrators. */
  @Since('muster')
  administrator: boolean;
  /** Whether there are requests that they may create: of no group, or of one of theirs. */
  @Since('muster')
  createsRequests: boolean;
  /** When the session ends that the caller has signed in to. Absent: something else proved who they are. */
  @Since('muster')
  @ApiPropertyOptional({ type: 'integer', format: 'int64' })
  sessionEndsAt?: number;
}

/** Describes the token to make. */
export class TokenRequestDto {
  /** Older clients chose the text of a token here. Now the service makes it, and this is refused. */
  @IsOptional()
  @IsEmpty({ message: 'token is made by the service and cannot be chosen' })
  @Text('uri')
  token?: string;
  /** Owner of the token; the caller unless given. */
  @IsOptional()
  @Nested(() => UserDto)
  user?: UserDto;
  /** Name of the token: it takes the place of the one of this name, or of the one without a name. */
  @Since('muster')
  @IsOptional()
  @Text('name', longestTokenName)
  name?: string;
  /**
   * Time at which it ends; by default as late as may be: after auth.tokenDays, and not after what proves who makes it.
   */
  @Since('muster')
  @IsOptional()
  @Timestamp()
  expiresAt?: number;
}

/** Selects tokens. */
export class TokenListQuery {
  /** Id of the user whose tokens are listed, by an administrator; the caller's own unless given. */
  @QueryText('name')
  user?: string;
  /** List the tokens of all users, for administrators. */
  @QueryBoolean()
  all?: boolean;
}

/** A token without its text. */
export class TokenInfoDto {
  /** Id; stands in the text of the token, too. */
  id: string;
  /** Name of the token; absent: it has none. */
  name?: string;
  /** Id of the user it stands for. */
  userId: string;
  /** Their name to show. */
  userName: string;
  /** Source of that id: a provider, a directory, or 'muster'. */
  issuer: string;
  /** Id of the caller who made it. */
  madeBy: string;
  /** Time at which it was made. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  createdAt: number;
  /** Time at which it ends. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  expiresAt: number;
  /** Time of its last use, to the minute. Absent until it was used. */
  @ApiPropertyOptional({ type: 'integer', format: 'int64' })
  lastUsedAt?: number;
  /** True if it was made while callers were not checked; it opens nothing while they are. */
  madeOpenly: boolean;

  static from(token: AuthTokenEntity): TokenInfoDto {
    const { id, name, userId, userName, issuer, madeBy, createdAt, expiresAt, lastUsedAt, madeOpenly } = token;
    const times = { createdAt: createdAt.getTime(), expiresAt: expiresAt.getTime(), lastUsedAt: lastUsedAt?.getTime() };
    return { id, name: name || undefined, userId, userName, issuer, madeBy, ...times, madeOpenly };
  }
}

/** A token that was made. */
export class TokenResponseDto {
  /** Id, by which it can be revoked. */
  @Since('muster')
  id: string;
  /** Time at which it ends. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int64' })
  expiresAt: number;
  /** Its text, shown this one time. */
  token: string;
  /** User that it stands for. */
  user: UserDto;
}

/** A question about a user and a request. */
export class AuthCheckQuery {
  /** Access to the request that is asked about. */
  @ApiPropertyOptional({ default: 'READ' })
  @QueryWord(accessScopes)
  scope?: AccessScope;
}
