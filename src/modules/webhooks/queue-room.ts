/** Milliseconds for which a queue that was found full counts as full: rows are not counted for every event. */
const fullMillis = 1_000;
const warnEveryMillis = 60_000;
/** Webhooks come and go; what is not known any more is counted again. */
const mostKnown = 10_000;

interface CountedRoom {
  /** Rows that may still be added, at least: what was delivered since is not in it. */
  room: number;
  /** It was counted, and there was none. */
  wasFull: boolean;
  countedAt: number;
}

/**
 * The number of updates that may still be queued for each webhook, as this instance knows it. Rows are counted only
 * when the room that was found is used up, so that a queue with plenty of room costs no count and contends for no row.
 */
export class QueueRoom {
  private readonly known = new Map<string, CountedRoom>();
  private readonly warned = new Map<string, number>();

  constructor(readonly most: number) {}

  /** Webhooks that may not have room for so many more, or were never counted. */
  unsure(ids: readonly string[], more: number, now: number): string[] {
    return ids.filter((id) => {
      const known = this.known.get(id);
      if (known === undefined) return true;
      // Room that is used up may be there all the same: a transaction that was repeated or taken back has used some.
      const isFull = known.wasFull && now - known.countedAt < fullMillis && now >= known.countedAt;
      return known.room < more && !isFull;
    });
  }

  counted(waiting: ReadonlyMap<string, number>, now: number): void {
    if (this.known.size > mostKnown) this.known.clear();
    for (const [id, count] of waiting) {
      const room = Math.max(0, this.most - count);
      this.known.set(id, { room, wasFull: room === 0, countedAt: now });
    }
  }

  /** Uses the room up, and answers how much of it there was. */
  take(id: string, more: number): number {
    const known = this.known.get(id);
    if (known === undefined) return 0;
    const taken = Math.min(known.room, more);
    known.room -= taken;
    return taken;
  }

  /** Once a minute per webhook. */
  mayWarn(id: string, now: number): boolean {
    const last = this.warned.get(id);
    if (last !== undefined && now - last < warnEveryMillis && now >= last) return false;
    if (this.warned.size > mostKnown) this.warned.clear();
    this.warned.set(id, now);
    return true;
  }
}
