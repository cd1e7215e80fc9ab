import { Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import { NeedsAction } from '../../platform/actions/needs-action.js';
import { CallerUser, type Caller } from '../../platform/http/caller.js';
import { Body, Query } from '../../platform/http/inputs.js';
import { Since } from '../../platform/http/since.js';
import { IgnoredUserBody } from '../auth/auth.dto.js';
import {
  ExpiringMachineStateDto,
  ExpiringSlaveStateDto,
  MachineChangeRequestDto,
  MachineQuery,
  MachineStateHistoryUpdateDto,
  SlaveDto,
} from './dto/machine.dto.js';
import { MachineChanges } from './machine-changes.service.js';
import { MachineReads } from './machine-reads.service.js';

@ApiTags('Slaves')
@ApiExtraModels(ExpiringSlaveStateDto)
@Controller('api/slaves')
export class SlavesController {
  constructor(
    private readonly machines: MachineReads,
    private readonly changes: MachineChanges,
  ) {}

  /** Lists the slaves. */
  @Get()
  list(@Query() { state }: MachineQuery): Promise<SlaveDto[]> {
    return this.machines.slaves(state);
  }

  /** Lists the changes of slaves that lapse. */
  @Get('expiring')
  expiring(): Promise<ExpiringMachineStateDto[]> {
    return this.changes.lapsing('SLAVE');
  }

  /** Lists the newest states of a slave, newest first. */
  @Get('slave/:slaveId')
  history(@Param('slaveId') slaveId: string): Promise<MachineStateHistoryUpdateDto[]> {
    return this.machines.history('SLAVE', slaveId);
  }

  /** Shows a slave. */
  @Get('slave/:slaveId/details')
  details(@Param('slaveId') slaveId: string): Promise<SlaveDto> {
    return this.machines.slave(slaveId);
  }

  /** Forgets all slaves that are DEAD. */
  @Delete('dead')
  @IgnoredUserBody()
  removeDead(): Promise<void> {
    return this.changes.removeDead('SLAVE');
  }

  /** Forgets a slave and its history. A decommission is cancelled. */
  @Delete('slave/:slaveId')
  remove(@Param('slaveId') slaveId: string, @CallerUser() caller: Caller): Promise<void> {
    return this.changes.remove('SLAVE', slaveId, caller);
  }

  /** Lets a slave take tasks again. A decommission is cancelled. */
  @Post('slave/:slaveId/activate')
  @NeedsAction('ACTIVATE_SLAVE')
  @HttpCode(200)
  activate(
    @Param('slaveId') slaveId: string,
    @Body() change: MachineChangeRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<void> {
    return this.changes.change('SLAVE', slaveId, 'ACTIVE', change, caller);
  }

  /** Moves the tasks of a slave elsewhere, and lets it take no new ones. */
  @Post('slave/:slaveId/decommission')
  @NeedsAction('DECOMMISSION_SLAVE')
  @HttpCode(200)
  decommission(
    @Param('slaveId') slaveId: string,
    @Body() change: MachineChangeRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<void> {
    return this.changes.change('SLAVE', slaveId, 'STARTING_DECOMMISSION', change, caller);
  }

  /** Changes when and how the decommission of a slave lapses; without a duration it stays. */
  @Post('slave/:slaveId/decommission/update')
  @NeedsAction('ACTIVATE_SLAVE', 'DECOMMISSION_SLAVE')
  @HttpCode(200)
  @Since('1.5')
  updateDecommission(
    @Param('slaveId') slaveId: string,
    @Body() change: MachineChangeRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<void> {
    return this.changes.updateDecommission(slaveId, change, caller);
  }

  /** Lets a slave take no new tasks; those on it stay. */
  @Post('slave/:slaveId/freeze')
  @NeedsAction('FREEZE_SLAVE')
  @HttpCode(200)
  freeze(
    @Param('slaveId') slaveId: string,
    @Body() change: MachineChangeRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<void> {
    return this.changes.change('SLAVE', slaveId, 'FROZEN', change, caller);
  }

  /** Makes a change that would lapse permanent. */
  @Delete('slave/:slaveId/expiring')
  makePermanent(@Param('slaveId') slaveId: string): Promise<void> {
    return this.changes.makePermanent('SLAVE', slaveId);
  }
}
