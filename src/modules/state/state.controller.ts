import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Query } from '../../platform/http/inputs.js';
import { Since } from '../../platform/http/since.js';
import {
  ProvisioningQuery,
  ScheduledTasksInfoDto,
  StateDto,
  StateQuery,
  TaskReconciliationStatisticsDto,
} from './dto/state.dto.js';
import { StateService } from './state.service.js';

@ApiTags('State')
@Controller('api/state')
export class StateController {
  constructor(private readonly states: StateService) {}

  /** Shows the service in figures. */
  @Get()
  @ApiOkResponse({ type: StateDto })
  state(@Query() { skipCache, includeRequestIds }: StateQuery): StateDto | Promise<StateDto> {
    return this.states.state(skipCache, includeRequestIds);
  }

  /** Shows how the last comparison of our tasks with those of the machines went. */
  @Get('task-reconciliation')
  lastReconciliation(): Promise<TaskReconciliationStatisticsDto> {
    return this.states.lastReconciliation();
  }

  /** Shows the tasks that should run by now and do not, and how many others wait. */
  @Get('scheduled-tasks-info')
  @Since('1.5')
  scheduledTasks(): Promise<ScheduledTasksInfoDto> {
    return this.states.scheduledTasks();
  }

  /** Lists the requests with fewer tasks than instances, although nothing is under way to change that. */
  @Get('requests/under-provisioned')
  underProvisioned(@Query() { skipCache }: ProvisioningQuery): Promise<string[]> {
    return this.states.provisioned('under', skipCache);
  }

  /** Lists the requests with more tasks than instances. */
  @Get('requests/over-provisioned')
  overProvisioned(@Query() { skipCache }: ProvisioningQuery): Promise<string[]> {
    return this.states.provisioned('over', skipCache);
  }
}
