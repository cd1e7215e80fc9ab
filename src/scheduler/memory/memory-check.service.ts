import { isDeepStrictEqual } from 'node:util';
import { Injectable, Logger } from '@nestjs/common';
import { RequestRepository } from '../../modules/requests/request.repository.js';
import { SlaveRepository } from '../../modules/slaves/slave.repository.js';
import { Database } from '../../platform/database/database.js';
import { LeaderMemory, type Difference, type MemoryPart } from './leader-memory.service.js';

const hourMillis = 3_600_000;
/** Between two parts. */
const partEveryMillis = 10_000;
/** At least; more where all of them would not have their turn within an hour. */
const perPart = 50;
/** A change that is notified or noted late looks like a difference for a moment; one seen this often in a row is real. */
const sightings = 3;

/**
 * Compares what the leader holds with the rows, a part at a time, so that each request and slave has its turn once an hour.
 * Should they differ, everything is loaded anew.
 */
@Injectable()
export class MemoryCheck {
  private readonly log = new Logger(MemoryCheck.name);
  private parts: MemoryPart[] = [];
  private nextAt = 0;
  private suspects: Difference[] = [];
  private seen = 0;

  constructor(
    private readonly db: Database,
    private readonly memory: LeaderMemory,
    private readonly requests: RequestRepository,
    private readonly slaves: SlaveRepository,
  ) {}

  /** Call within a round, after the memory was refreshed. */
  async runWhenDue(now: number): Promise<void> {
    // Further away than it ever is: the clock was set back.
    if (now < this.nextAt && this.nextAt - now <= partEveryMillis) return;
    if (this.suspects.length > 0) return this.checkAgain(now);
    if (this.parts.length === 0) this.parts = partsOf(await this.everything());
    this.nextAt = now + partEveryMillis;
    const part = this.parts.pop();
    if (part) this.suspect(await this.memory.compare(part, now));
  }

  /** All at once; as above. */
  async compareAll(now: number): Promise<Difference[]> {
    return this.memory.compare(await this.everything(), now);
  }

  private suspect(found: Difference[]): void {
    this.suspects = found;
    this.seen = 1;
    if (found.length > 0) this.nextAt = 0;
  }

  private async checkAgain(now: number): Promise<void> {
    const idsOf = (of: keyof MemoryPart) => this.suspects.filter((one) => one.of === of).map(({ id }) => id);
    const again = await this.memory.compare({ requests: idsOf('requests'), slaves: idsOf('slaves') }, now);
    this.suspects = again.filter((one) => this.suspects.some((former) => isDeepStrictEqual(former, one)));
    this.seen++;
    if (this.suspects.length === 0 || this.seen < sightings) return;
    for (const { of, id, held, rows: stored } of this.suspects) {
      this.log.error(`The memory differs from the rows of ${of} '${id}': ${JSON.stringify({ held, rows: stored })}`);
    }
    this.suspects = [];
    this.memory.drop();
  }

  /** Also of what is held and has no row, or the other way round. */
  private async everything(): Promise<MemoryPart> {
    const held = this.memory.everything();
    const [ids, slaves] = await Promise.all([
      this.requests.findIds(this.db.pool, {}),
      this.slaves.slaveIds(this.db.pool),
    ]);
    const together = (ids: readonly string[], stored: readonly string[]): string[] => [...new Set([...ids, ...stored])];
    const requests = JSON.parse(ids) as string[];
    return { requests: together(held.requests, requests), slaves: together(held.slaves, slaves) };
  }
}

function partsOf({ requests, slaves }: MemoryPart): MemoryPart[] {
  const size = (all: number): number => Math.max(perPart, Math.ceil((all * partEveryMillis) / hourMillis));
  const count = Math.max(
    Math.ceil(requests.length / size(requests.length)),
    Math.ceil(slaves.length / size(slaves.length)),
  );
  const slice = (ids: readonly string[], index: number): readonly string[] =>
    ids.slice(index * size(ids.length), (index + 1) * size(ids.length));
  return Array.from({ length: count }, (_, index) => ({
    requests: slice(requests, index),
    slaves: slice(slaves, index),
  }));
}
