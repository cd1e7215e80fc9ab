import { Injectable } from '@nestjs/common';
import { builtInUser, type AccessScope, type User } from '../../core/authorization/index.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { UserSettingsRepository } from '../users/user-settings.repository.js';
import { Access } from './access/access.service.js';
import { UserDirectory } from './directory/user-directory.js';
import {
  TokenInfoDto,
  UserDto,
  type TokenListQuery,
  type TokenRequestDto,
  type TokenResponseDto,
  type UserHolderDto,
} from './auth.dto.js';
import { Tokens } from './tokens/tokens.service.js';

/** What callers can ask about themselves and others, and their tokens. */
@Injectable()
export class AuthService {
  constructor(
    private readonly access: Access,
    private readonly tokens: Tokens,
    private readonly directory: UserDirectory,
    private readonly settings: UserSettingsRepository,
    private readonly db: Database,
  ) {}

  async whoCalls(caller: User): Promise<UserHolderDto> {
    const settings = await this.settings.find(this.db.manager, caller.id);
    return { user: UserDto.from(caller), settings, authenticated: true, authEnabled: this.access.enabled };
  }

  async createToken({ user, name, expiresAt }: TokenRequestDto, caller: User): Promise<TokenResponseDto> {
    if (user) this.access.require(caller, { kind: 'admin' });
    const bearer = user ? UserDto.toUser(user) : caller;
    const made = await this.tokens.create({ user: bearer, name, expiresAt }, caller);
    return { id: made.id, expiresAt: made.expiresAt, token: made.text, user: UserDto.from(bearer) };
  }

  async listTokens({ user: userId, all = false }: TokenListQuery, caller: User): Promise<TokenInfoDto[]> {
    if (userId !== undefined || all) this.access.require(caller, { kind: 'admin' });
    const whose = all ? 'all' : userId === undefined ? { owner: caller } : { userId };
    return (await this.tokens.list(whose)).map((token) => TokenInfoDto.from(token));
  }

  revokeToken(id: string, caller: User): Promise<void> {
    const { allowed } = this.access.decide(caller, { kind: 'admin' });
    return this.tokens.revoke(id, caller, allowed);
  }

  clearToken(userName: string): Promise<void> {
    return this.tokens.clear(userName);
  }

  async check(requestId: string, scope: AccessScope = 'READ', user: User): Promise<void> {
    const found = (await this.access.findGroups([requestId])).get(requestId);
    const { allowed, reason } = this.access.decideById(user, scope, requestId, found);
    if (!allowed) throw new SchedulerError('FORBIDDEN', reason!);
  }

  /** A user whom the directory does not know has the rights of the built-in one. */
  async checkUser(requestId: string, scope: AccessScope | undefined, userId: string): Promise<void> {
    return this.check(requestId, scope, (await this.directory.find(userId)) ?? { ...builtInUser, id: userId });
  }
}
