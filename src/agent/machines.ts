import type { MachineSnapshot } from '../cluster/cluster-driver.js';
import { PortsInUse } from './ports.js';
import { parsePortRanges, type LocalClusterSettings, type SlaveSetting } from './settings.js';

/** The slaves that this agent presents. */
export class Machines {
  readonly portsInUse = new PortsInUse(() => this.noteChange());
  private changes = 1;
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

  has(slaveId: string): boolean {
    return this.slaves.some((slave) => slave.id === slaveId);
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  snapshots(now: number): MachineSnapshot[] {
    const portsInUse = this.portsInUse.list();
    const { rackIdAttributeKey, defaultRackId } = this.racks;
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
        seenAt: now,
      };
    });
  }

  private noteChange(): void {
    this.changes++;
    for (const listener of this.listeners) listener();
  }
}
