type InGroup = { request: { concurrencyGroup?: { name: string } } } | undefined;

/** Ids of requests by the concurrency group that they name. */
export class GroupMembers {
  private readonly ids = new Map<string, Set<string>>();

  of(name: string): Iterable<string> {
    return this.ids.get(name) ?? [];
  }

  /** The request of this id takes the place of the former one. */
  replace(id: string, former: InGroup, request: InGroup): void {
    const before = former?.request.concurrencyGroup?.name;
    const after = request?.request.concurrencyGroup?.name;
    if (before === after) return;
    if (before !== undefined) this.remove(before, id);
    if (after !== undefined) this.ids.set(after, (this.ids.get(after) ?? new Set<string>()).add(id));
  }

  private remove(name: string, id: string): void {
    const members = this.ids.get(name);
    members?.delete(id);
    if (members?.size === 0) this.ids.delete(name);
  }
}
