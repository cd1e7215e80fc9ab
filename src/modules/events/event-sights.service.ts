import { Injectable } from '@nestjs/common';
import { incarnationAt, type User } from '../../core/authorization/index.js';
import type { LiveEvent } from '../../core/model/event.js';
import { Database } from '../../platform/database/database.js';
import { Access, type KnownRequest } from '../auth/access/access.service.js';
import type { EventPage, NumberedEvent } from './event-page.js';

export type EventFilter = (event: NumberedEvent) => boolean;

const seesAll: EventFilter = () => true;

/** Decides which events a user may see, by the groups that requests have when the events are sent. */
@Injectable()
export class EventSights {
  /** Requests of a page, while it is remembered. */
  private readonly known = new WeakMap<EventPage, Promise<Map<string, KnownRequest>>>();

  constructor(
    private readonly access: Access,
    private readonly db: Database,
  ) {}

  /** The filter for the events of a page that this user may see. */
  of(user: User, page: EventPage): EventFilter | Promise<EventFilter> {
    if (!this.access.enabled || this.access.isAdmin(user)) return seesAll;
    return this.requestsOf(page).then((requests) => this.among(user, requests));
  }

  private requestsOf(page: EventPage): Promise<Map<string, KnownRequest>> {
    const present = this.known.get(page);
    if (present) return present;
    const ids = [...new Set(page.events.flatMap(({ requestId }) => requestId ?? []))];
    const found = ids.length > 0 ? this.access.find(this.db.pool, ids) : Promise.resolve(new Map());
    this.known.set(page, found);
    // The page may be wanted again before it is forgotten.
    found.catch(() => this.known.delete(page));
    return found;
  }

  private among(user: User, requests: ReadonlyMap<string, KnownRequest>): EventFilter {
    const decided = new Map<unknown, boolean>();
    const readsMachines = this.access.mayAsk(user, { kind: 'globalRead' });
    return ({ event, requestId }) => {
      if (requestId === undefined) return event.type !== 'DISASTER' && readsMachines;
      const groups = groupsAt(requests.get(requestId), event);
      if (!groups) return false;
      const known = decided.get(groups) ?? this.access.may(user, 'READ', requestId, groups);
      decided.set(groups, known);
      return known;
    };
  }
}

/** An id may have had several requests: an event belongs to the one that was there then. */
function groupsAt(request: KnownRequest | undefined, { at }: LiveEvent) {
  if (!request) return undefined;
  const life = incarnationAt(request.lives, at);
  return life ? life.groups : request.last?.groups;
}
