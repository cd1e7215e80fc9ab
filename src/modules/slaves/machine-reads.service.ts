import { Injectable } from '@nestjs/common';
import type { MachineState } from '../../core/model/enums.js';
import type { MachineKind, MachineStateHistoryUpdate, Rack, Slave } from '../../core/model/machine.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { MachineStore } from './machine-store.service.js';
import { Machines, type StoredSlave } from './machines.service.js';

/** Machines as the API shows them, in the order of ids. */
@Injectable()
export class MachineReads {
  constructor(
    private readonly db: Database,
    private readonly machines: Machines,
    private readonly store: MachineStore,
  ) {}

  async slaves(state?: MachineState): Promise<Slave[]> {
    return (await this.machines.find(this.db.manager, { state })).map(toSlave);
  }

  async slave(id: string): Promise<Slave> {
    const [found] = await this.machines.find(this.db.manager, { id });
    if (!found) throw new SchedulerError('MACHINE_NOT_FOUND', `No slave with id '${id}'`);
    return toSlave(found);
  }

  racks(state?: MachineState): Promise<Rack[]> {
    return this.store.find(this.db.manager, 'RACK', state);
  }

  history(kind: MachineKind, id: string): Promise<MachineStateHistoryUpdate[]> {
    return this.store.history(this.db.manager, kind, id);
  }
}

const toSlave = ({ firstSeenAt, currentState, host, rackId, attributes, resources, id }: StoredSlave): Slave => ({
  firstSeenAt,
  currentState,
  host,
  rackId,
  attributes,
  resources,
  id,
});
