/** The part of a list that a call asks for: members whose key follows `after`, in the order of their keys. */
export interface KeysetPage {
  /** Empty: from the beginning, since no key is empty. */
  after: string;
  limit: number;
}

/** A part of a list that was read as such, and not cut out of the whole list. */
export class ListPage<Member> {
  /** `next`: the key after which the list goes on. Absent: it ends here. */
  constructor(
    readonly members: readonly Member[],
    readonly next?: string,
  ) {}

  /** From what `keysetOf` has a statement read: one member more than the page has, where there are more. */
  static of<Member>(found: readonly Member[], limit: number, keyOf: (member: Member) => string): ListPage<Member> {
    if (found.length <= limit) return new ListPage(found);
    const members = found.slice(0, limit);
    return new ListPage(members, keyOf(members.at(-1)!));
  }
}

/**
 * Parameters of `WHERE key > $a .. ORDER BY key LIMIT $b`, which PostgreSQL reads along the index of the key, from the cursor on. A key
 * stays where it is, so that whatever comes and goes between two pages no member comes twice, and none that stays is left out.
 */
export const keysetOf = ({ after, limit }: KeysetPage): [after: string, limit: number] => [after, limit + 1];
