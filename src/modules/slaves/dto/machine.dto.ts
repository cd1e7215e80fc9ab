import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { IsBoolean, IsNotEmpty, IsOptional } from 'class-validator';
import { type MachineState, machineStates } from '../../../core/model/enums.js';
import type {
  ClusterResourcesObject,
  ExpiringMachineState,
  MachineChangeRequest,
  MachineStateHistoryUpdate,
  Rack,
  Slave,
} from '../../../core/model/machine.js';
import { OlderNames, OneOf, Text, Millis } from '../../../platform/http/fields.js';
import { QueryWord } from '../../../platform/http/query.js';
import { Since } from '../../../platform/http/since.js';

const machineState = { enum: machineStates, enumName: 'MachineState' } as const;

/** A state that a slave or rack came to. */
export class MachineStateHistoryUpdateDto implements MachineStateHistoryUpdate {
  /** Id of the slave or rack. */
  objectId: string;
  /** The state. */
  @ApiProperty(machineState)
  state: MachineState;
  /** Time of the change, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** User who made it; absent when the cluster did. */
  user?: string;
  /** Reason for the change. */
  message?: string;
}

/** Resources of a slave in all. */
@ApiSchema({ name: 'ClusterResourcesObjectDto' })
export class ClusterResourcesDto implements ClusterResourcesObject {
  /** Cores. */
  cpus?: number;
  /** Memory in MB. */
  mem?: number;
  /** Disk in MB. */
  disk?: number;
  /** Ranges of ports, such as "[31000-31999]". */
  ports?: string;
  /** Extended resources: counts by name. */
  @Since('muster')
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer', format: 'int32' } })
  extended?: Record<string, number>;
  /** Most tasks that may run there at once; absent: any number. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int32' })
  maxTasks?: number;
}

/** A machine that runs tasks. */
@OlderNames({ slaveId: { of: 'id', type: 'string' } })
export class SlaveDto implements Slave {
  /** Time at which it was seen first, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  firstSeenAt: number;
  /** Its state, and since when. */
  currentState: MachineStateHistoryUpdateDto;
  /** Name of the host. */
  host: string;
  /** Rack that it stands in. */
  rackId: string;
  /** Its attributes, by which requests choose slaves. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' } })
  attributes: Record<string, string>;
  /** Resources that it offers to tasks in all. */
  resources?: ClusterResourcesDto;
  /** Its id. */
  id: string;
}

/** A group of machines that may fail together. */
@OlderNames({ rackId: { of: 'id', type: 'string' } })
export class RackDto implements Rack {
  /** Time at which it was seen first, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  firstSeenAt: number;
  /** Its state, and since when. */
  currentState: MachineStateHistoryUpdateDto;
  /** Its id. */
  id: string;
}

/** Options of a change of a slave's or rack's state. */
export class MachineChangeRequestDto implements MachineChangeRequest {
  /** Time after which the change lapses; absent: it stays. */
  @IsOptional()
  @Millis()
  durationMillis?: number;
  /** An id of your own for this action. */
  @IsOptional()
  @Text('name')
  actionId?: string;
  /** Reason for the change; kept with the state. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** State to go to when the change lapses; required together with durationMillis. */
  @IsOptional()
  @OneOf(machineStates)
  revertToState?: MachineState;
  /** Kill the tasks that are left when the change lapses into DECOMMISSIONED. */
  @IsOptional()
  @IsBoolean()
  killTasksOnDecommissionTimeout?: boolean;
}

/** A change of a slave or rack that lapses. */
export class ExpiringMachineStateDto implements ExpiringMachineState {
  /** User who made it. */
  user?: string;
  /** Time of the change, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  startMillis?: number;
  /** Id of the action. */
  actionId?: string;
  /** The change as it was asked for. */
  expiringAPIRequestObject?: MachineChangeRequestDto;
  /** The slave or rack. */
  machineId?: string;
  /** State it goes to when the change lapses. */
  @ApiProperty(machineState)
  revertToState?: MachineState;
  /** True if tasks that are left then are killed. */
  killTasksOnDecommissionTimeout?: boolean;
}

/** A change of a slave that lapses; machineId is the slave. */
export class ExpiringSlaveStateDto extends ExpiringMachineStateDto {}

/** Selects machines. */
export class MachineQuery {
  /** Only those in this state. */
  @QueryWord(machineStates)
  state?: MachineState;
}

/** Selects a host. */
export class HostQuery {
  /** Name of the host, as slaves show it. */
  @ApiProperty()
  @Text('name')
  @IsNotEmpty()
  host: string;
}
