import { Injectable } from '@nestjs/common';
import { builtInUser, type AccessScope, type User } from '../../core/authorization/index.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { UserSettingsRepository } from '../users/user-settings.repository.js';
import { Access } from './access/access.service.js';
import { UserDirectory } from './directory/user-directory.js';
import { UserDto, type TokenRequestDto, type TokenResponseDto, type UserHolderDto } from './auth.dto.js';
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

  async createToken({ token, user }: TokenRequestDto, caller: User): Promise<TokenResponseDto> {
    if (user) this.access.require(caller, { kind: 'admin' });
    const bearer = user ? UserDto.toUser(user) : caller;
    return { token: await this.tokens.create(bearer, caller, token), user: UserDto.from(bearer) };
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
