import { Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { NeedsAction } from '../../platform/actions/needs-action.js';
import { CallerUser, type Caller } from '../../platform/http/caller.js';
import { Body, Query } from '../../platform/http/inputs.js';
import {
  ExpiringMachineStateDto,
  MachineChangeRequestDto,
  MachineQuery,
  MachineStateHistoryUpdateDto,
  RackDto,
} from './dto/machine.dto.js';
import { MachineChanges } from './machine-changes.service.js';
import { MachineReads } from './machine-reads.service.js';

@ApiTags('Racks')
@Controller('api/racks')
export class RacksController {
  constructor(
    private readonly machines: MachineReads,
    private readonly changes: MachineChanges,
  ) {}

  /** Lists the racks. */
  @Get()
  list(@Query() { state }: MachineQuery): Promise<RackDto[]> {
    return this.machines.racks(state);
  }

  /** Lists the changes of racks that lapse. */
  @Get('expiring')
  expiring(): Promise<ExpiringMachineStateDto[]> {
    return this.changes.lapsing('RACK');
  }

  /** Lists the newest states of a rack, newest first. */
  @Get('rack/:rackId')
  history(@Param('rackId') rackId: string): Promise<MachineStateHistoryUpdateDto[]> {
    return this.machines.history('RACK', rackId);
  }

  /** Forgets a rack and its history. A decommission is cancelled. */
  @Delete('rack/:rackId')
  remove(@Param('rackId') rackId: string, @CallerUser() caller: Caller): Promise<void> {
    return this.changes.remove('RACK', rackId, caller);
  }

  /** Lets the slaves of a rack take tasks again. A decommission is cancelled. */
  @Post('rack/:rackId/activate')
  @NeedsAction('ACTIVATE_RACK')
  @HttpCode(200)
  activate(
    @Param('rackId') rackId: string,
    @Body() change: MachineChangeRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<void> {
    return this.changes.change('RACK', rackId, 'ACTIVE', change, caller);
  }

  /** Moves the tasks in a rack elsewhere, and lets its slaves take no new ones. */
  @Post('rack/:rackId/decommission')
  @NeedsAction('DECOMMISSION_RACK')
  @HttpCode(200)
  decommission(
    @Param('rackId') rackId: string,
    @Body() change: MachineChangeRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<void> {
    return this.changes.change('RACK', rackId, 'STARTING_DECOMMISSION', change, caller);
  }

  /** Lets the slaves of a rack take no new tasks; those on them stay. */
  @Post('rack/:rackId/freeze')
  @NeedsAction('FREEZE_RACK')
  @HttpCode(200)
  freeze(
    @Param('rackId') rackId: string,
    @Body() change: MachineChangeRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<void> {
    return this.changes.change('RACK', rackId, 'FROZEN', change, caller);
  }

  /** Makes a change that would lapse permanent. */
  @Delete('rack/:rackId/expiring')
  makePermanent(@Param('rackId') rackId: string): Promise<void> {
    return this.changes.makePermanent('RACK', rackId);
  }
}
