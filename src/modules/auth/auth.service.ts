import { Injectable } from '@nestjs/common';
import { builtInUser, type AccessScope, type Decision, type User } from '../../core/authorization/index.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { UserSettingsDto } from '../users/user-settings.dto.js';
import { UserSettingsRepository } from '../users/user-settings.repository.js';
import type { CheckedRequest } from './access/access.guard.js';
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
import { Sessions } from './sessions/sessions.service.js';
import { Tokens } from './tokens/tokens.service.js';

/** Questions of callers about themselves and others, and their tokens. */
@Injectable()
export class AuthService {
  constructor(
    private readonly access: Access,
    private readonly tokens: Tokens,
    private readonly sessions: Sessions,
    private readonly directory: UserDirectory,
    private readonly settings: UserSettingsRepository,
    private readonly db: Database,
  ) {}

  async whoCalls(caller: User, request: CheckedRequest): Promise<UserHolderDto> {
    return this.told(caller, this.sessions.isProof(request) ? caller.provenUntil : undefined);
  }

  /** What a caller is told of themselves. */
  async told(caller: User, sessionEndsAt?: number): Promise<UserHolderDto> {
    const found = await this.settings.find(this.db.pool, caller.id);
    const settings = found && UserSettingsDto.of(found);
    const administrator = this.access.mayAsk(caller, { kind: 'admin' });
    const createsRequests = this.access.mayCreateRequests(caller);
    const known = { user: UserDto.from(caller), settings, authenticated: true, authEnabled: this.access.enabled };
    return { ...known, administrator, createsRequests, sessionEndsAt };
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
    const { allowed, reason } = await this.decide(requestId, scope, user);
    if (!allowed) throw new SchedulerError('FORBIDDEN', reason!);
  }

  /**
   * A user whom the directory does not know has the rights of the built-in one. The caller is told no more of the request
   * than they may read of it themselves; where every caller may ask, none is told why.
   */
  async checkUser(requestId: string, scope: AccessScope = 'READ', userId: string, caller: User): Promise<void> {
    if (caller.authenticated) await this.check(requestId, 'READ', caller);
    const user = (await this.directory.find(userId)) ?? { ...builtInUser, id: userId };
    const { allowed, reason } = await this.decide(requestId, scope, user);
    if (allowed) return;
    const untold = `'${userId}' may not ${scope} request '${requestId}'`;
    throw new SchedulerError('FORBIDDEN', caller.authenticated ? reason! : untold);
  }

  private async decide(requestId: string, scope: AccessScope, user: User): Promise<Decision> {
    // Administrators may ask of requests that nothing is known of.
    if (this.access.isAdmin(user)) return { allowed: true };
    const known = (await this.access.find(this.db.pool, [requestId])).get(requestId)!;
    return this.access.decideById(user, scope, requestId, known.last?.groups);
  }
}
