import { Inject, Injectable, Logger } from '@nestjs/common';
import { isAdmin, isElevated, overlaps, type AccessScope, type User } from '../../../core/authorization/index.js';
import type { ElevatedAccessEvent } from '../../../core/model/webhook.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Wake } from '../../../platform/wake/wake.js';
import { RequestAccessRepository } from '../../requests/request-access.repository.js';
import { WebhookOutboxRepository } from '../../webhooks/webhook-outbox.repository.js';
import type { NamedRequest } from './call.js';
import type { RequestNeed } from './needs.js';

/**
 * Tells webhooks of calls that were let through although the caller belongs to none of the groups of the request: by
 * just-in-time access, or as an administrator. Of administrators only what changes something: they look at everything.
 */
@Injectable()
export class ElevatedAccess {
  private readonly log = new Logger(ElevatedAccess.name);

  constructor(
    private readonly db: Database,
    private readonly requests: RequestAccessRepository,
    private readonly outbox: WebhookOutboxRepository,
    private readonly clock: Clock,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Never fails: the call is allowed. Costs nothing for other callers, and little while no webhook listens. */
  note({ scopes }: RequestNeed, user: User, named: readonly NamedRequest[]): void | Promise<void> {
    const { auth } = this.settings;
    const noted = isAdmin(auth, user) ? scopes.filter((scope) => scope !== 'READ') : scopes;
    if (noted.length === 0 || named.length === 0) return;
    if (!isAdmin(auth, user) && !overlaps([...user.groups, ...user.scopes], auth.jitaGroups)) return;
    return this.tell(user, noted, [...new Set(named.map(({ id }) => id))]);
  }

  private async tell(user: User, scopes: readonly AccessScope[], ids: string[]): Promise<void> {
    try {
      if (!(await this.outbox.isHeard(this.db.pool, 'ELEVATED_ACCESS'))) return;
      const events = await this.eventsOf(user, scopes, ids);
      if (events.length === 0) return;
      await this.db.transaction((tx) => this.outbox.elevatedAccess(tx, events));
      this.wake.signal('webhooks');
    } catch (cause) {
      this.log.warn(`Webhooks are not told of the elevated access of '${user.id}': ${String(cause)}`);
    }
  }

  private async eventsOf(user: User, scopes: readonly AccessScope[], ids: string[]): Promise<ElevatedAccessEvent[]> {
    const createdAt = this.clock.now();
    return [...(await this.requests.find(this.db.pool, ids))].flatMap(([requestId, groups]) =>
      scopes
        .filter((scope) => isElevated(this.settings.auth, user, { kind: 'request', scope, requestId, groups }))
        .map((scope) => ({ user: user.id, requestId, scope, createdAt })),
    );
  }
}
