import { Injectable } from '@nestjs/common';
import type { MachineState } from '../../core/model/enums.js';
import type { MachineKind, MachineStateHistoryUpdate, Rack, Slave } from '../../core/model/machine.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { MachineHistoryRepository } from './machine-history.repository.js';
import { SlaveRepository, type StoredSlave } from './slave.repository.js';

/** Machines as the API shows them, in the order of ids. */
@Injectable()
export class MachineReads {
  constructor(
    private readonly db: Database,
    private readonly slaveRecords: SlaveRepository,
    private readonly histories: MachineHistoryRepository,
  ) {}

  async slaves(state?: MachineState): Promise<Slave[]> {
    return (await this.slaveRecords.find(this.db.pool, { state })).map(toSlave);
  }

  async slave(id: string): Promise<Slave> {
    const [found] = await this.slaveRecords.find(this.db.pool, { id });
    if (!found) throw SchedulerError.machineNotFound('slave', id);
    return toSlave(found);
  }

  racks(state?: MachineState): Promise<Rack[]> {
    return this.slaveRecords.standings(this.db.pool, 'RACK', state);
  }

  history(kind: MachineKind, id: string): Promise<MachineStateHistoryUpdate[]> {
    return this.histories.of(this.db.pool, kind, id);
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
