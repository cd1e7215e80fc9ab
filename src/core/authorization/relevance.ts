import type { User } from './user.js';

/** What is known of a request when somebody asks only for those that concern them. */
export interface RelevanceFacts {
  group?: string;
  starred: boolean;
  /** Who deployed it, and who changed it last as far as that was looked up. */
  actedBy: readonly (string | undefined)[];
}

/** Whether a request concerns a caller. Everything concerns nobody in particular. */
export function isRelevantFor(user: User, { group, starred, actedBy }: RelevanceFacts): boolean {
  if (!user.authenticated || starred) return true;
  if (group !== undefined && user.groups.includes(group)) return true;
  const names = [user.email, user.id, user.name].filter((name) => name !== undefined);
  return actedBy.some((by) => by !== undefined && names.includes(by));
}
