import { createServer } from 'node:net';
import type { PresentedMachine } from '../wire/agent-records.js';
import { errorCode } from '../../platform/files.js';
import { parsePortRanges, type SlaveSetting } from '../../platform/settings/local-settings.js';
import type { LocalClusterSettings } from '../settings.js';

/** The slaves that this agent presents. */
export class Machines {
  readonly portsInUse = new PortsInUse(() => this.noteChange());
  private changes = 1;
  private diskIsFull = false;
  private containersRefusal: string | undefined;
  private readonly listeners: (() => void)[] = [];

  constructor(
    readonly agentId: string,
    readonly incarnation: string,
    private readonly slaves: readonly SlaveSetting[],
    private readonly racks: Pick<LocalClusterSettings, 'rackIdAttributeKey' | 'defaultRackId'>,
  ) {}

  /** Grows with every change of what `snapshots` answers. */
  get version(): number {
    return this.changes;
  }

  /** So little of the disk is free that no task is started. */
  get isDiskFull(): boolean {
    return this.diskIsFull;
  }

  noteDisk(isFull: boolean): void {
    if (this.diskIsFull === isFull) return;
    this.diskIsFull = isFull;
    this.noteChange();
  }

  /** Notes the reason why no containers run here; '': they do; undefined: not known yet. */
  noteContainers(refusal: string | undefined): void {
    this.containersRefusal = refusal;
    this.noteChange();
  }

  has(slaveId: string): boolean {
    return this.slaves.some((slave) => slave.id === slaveId);
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  snapshots(now: number): PresentedMachine[] {
    const portsInUse = this.portsInUse.list();
    const { rackIdAttributeKey, defaultRackId } = this.racks;
    const { containersRefusal } = this;
    return this.slaves.map(({ id, ports, ...rest }) => {
      const portRanges = parsePortRanges(ports);
      return {
        ...rest,
        slaveId: id,
        rackId: rest.rackId ?? rest.attributes[rackIdAttributeKey] ?? defaultRackId,
        agentId: this.agentId,
        incarnation: this.incarnation,
        portRanges,
        portsInUse: portsInUse.filter((port) => portRanges.some(({ begin, end }) => begin <= port && port <= end)),
        ...(this.diskIsFull && { isDiskFull: true }),
        // While it is not known a task of one would be lost here.
        runsContainers: containersRefusal === '',
        ...(containersRefusal && { containersRefusal }),
        seenAt: now,
      };
    });
  }

  private noteChange(): void {
    this.changes++;
    for (const listener of this.listeners) listener();
  }
}

/** Can a task listen on this port now, on any address? Asked by listening for a moment. */
async function isPortFree(port: number): Promise<boolean> {
  const onBoth = await tryListen(port, '::');
  return onBoth === 'NO_SUCH_ADDRESS' ? (await tryListen(port, '0.0.0.0')) === 'FREE' : onBoth === 'FREE';
}

function tryListen(port: number, host: string): Promise<'FREE' | 'TAKEN' | 'NO_SUCH_ADDRESS'> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (cause) => {
      const isAddressMissing = ['EAFNOSUPPORT', 'EADDRNOTAVAIL'].includes(errorCode(cause) ?? '');
      resolve(isAddressMissing ? 'NO_SUCH_ADDRESS' : 'TAKEN');
    });
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve('FREE')));
  });
}

/** Ports that were found taken by something else. They are offered again once they are free. */
class PortsInUse {
  private readonly taken = new Set<number>();

  constructor(private readonly changed: () => void) {}

  list(): number[] {
    return [...this.taken].toSorted((a, b) => a - b);
  }

  /** The first that is taken, if any. */
  async findTaken(ports: readonly number[]): Promise<number | undefined> {
    for (const port of ports) {
      if (await isPortFree(port)) continue;
      this.note(port);
      return port;
    }
    return undefined;
  }

  note(port: number): void {
    if (this.taken.has(port)) return;
    this.taken.add(port);
    this.changed();
  }

  async checkAgain(): Promise<void> {
    for (const port of this.list()) {
      if (!(await isPortFree(port))) continue;
      this.taken.delete(port);
      this.changed();
    }
  }
}
