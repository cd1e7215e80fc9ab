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

const machineState = { enum: machineStates, enumName: 'MachineState' } as const;

/** A state that a slave or rack came to. */
export class MachineStateHistoryUpdateDto implements MachineStateHistoryUpdate {
  /** Id of the slave or rack. */
  objectId: string;
  /** The state. */
  @ApiProperty(machineState)
  state: MachineState;
  /** When, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Who put it there; absent when the cluster did. */
  user?: string;
  /** Why. */
  message?: string;
}

/** What a slave offers in all. */
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
}

/** A machine that runs tasks. */
@OlderNames({ slaveId: { of: 'id', type: 'string' } })
export class SlaveDto implements Slave {
  /** When it was seen first, in epoch milliseconds. */
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
  /** What it offers to tasks in all. */
  resources?: ClusterResourcesDto;
  /** Its id. */
  id: string;
}

/** A group of machines that may fail together. */
@OlderNames({ rackId: { of: 'id', type: 'string' } })
export class RackDto implements Rack {
  /** When it was seen first, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  firstSeenAt: number;
  /** Its state, and since when. */
  currentState: MachineStateHistoryUpdateDto;
  /** Its id. */
  id: string;
}

/** How the state of a slave or rack is to be changed. */
export class MachineChangeRequestDto implements MachineChangeRequest {
  /** Time after which the change lapses; absent: it stays. */
  @IsOptional()
  @Millis()
  durationMillis?: number;
  /** An id of your own for this action. */
  @IsOptional()
  @Text('name')
  actionId?: string;
  /** Why; kept with the state. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** State to go to when the change lapses; required together with durationMillis. */
  @IsOptional()
  @OneOf(machineStates)
  revertToState?: MachineState;
  /** When the change lapses into DECOMMISSIONED, kill the tasks that are left. */
  @IsOptional()
  @IsBoolean()
  killTasksOnDecommissionTimeout?: boolean;
}

/** A change of a slave or rack that lapses. */
export class ExpiringMachineStateDto implements ExpiringMachineState {
  /** Who made it. */
  user?: string;
  /** When, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  startMillis?: number;
  /** Id of the action. */
  actionId?: string;
  /** What was asked for. */
  expiringAPIRequestObject?: MachineChangeRequestDto;
  /** The slave or rack. */
  machineId?: string;
  /** State it goes to when the change lapses. */
  @ApiProperty(machineState)
  revertToState?: MachineState;
  /** Whether tasks that are left then are killed. */
  killTasksOnDecommissionTimeout?: boolean;
}

/** The same of a slave; machineId is the slave. */
export class ExpiringSlaveStateDto extends ExpiringMachineStateDto {}

/** Which machines. */
export class MachineQuery {
  /** Only those in this state. */
  @QueryWord(machineStates)
  state?: MachineState;
}

/** Which host. */
export class HostQuery {
  /** Name of the host, as slaves show it. */
  @ApiProperty()
  @Text('name')
  @IsNotEmpty()
  host: string;
}
