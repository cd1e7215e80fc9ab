import { Controller, Delete, Get, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Query } from '../../../platform/http/inputs.js';
import { IgnoredUserBody } from '../../auth/auth.dto.js';
import { HostQuery } from '../dto/machine.dto.js';
import { InactiveMachines } from './inactive-machines.service.js';

@ApiTags('Inactive machines')
@Controller('api/inactive')
export class InactiveController {
  constructor(private readonly machines: InactiveMachines) {}

  /** Lists the hosts that are marked inactive. */
  @Get()
  list(): Promise<string[]> {
    return this.machines.list();
  }

  /** Marks a host inactive: its slaves get no new tasks, and what runs there runs on. A slave that appears on it, or comes back, is decommissioned at once. */
  @Post()
  @HttpCode(204)
  mark(@Query() { host }: HostQuery): Promise<void> {
    return this.machines.mark(host);
  }

  /** Takes a host off the list: its slaves are used again at once. A decommission that has begun goes on. */
  @Delete()
  @HttpCode(204)
  unmark(@Query() { host }: HostQuery): Promise<void> {
    return this.machines.unmark(host);
  }

  /** Takes all hosts off the list. */
  @Delete('all')
  @IgnoredUserBody()
  @HttpCode(204)
  unmarkAll(): Promise<void> {
    return this.machines.unmarkAll();
  }
}
