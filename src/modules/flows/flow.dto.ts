import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { type FlowRunState, flowRunStates } from '../../core/flows/index.js';
import {
  followConditions,
  type FollowCondition,
  requestStates,
  requestTypes,
  taskStates,
  type RequestState,
  type RequestType,
  type TaskState,
} from '../../core/model/enums.js';
import { runTriggers, type RunTrigger } from '../../core/model/task.js';
import { Text } from '../../platform/http/fields.js';

/** A run of a flow. */
export class FlowRunDto {
  /** The flow. */
  flowId: string;
  /** The request that runs. */
  requestId: string;
  /** Id of the run. */
  runId: string;
  /** WAITING for its request, ACTIVE in its queue or on a machine, SUCCESS, FAILURE; DROPPED: it was taken back, or its request is gone. */
  @ApiProperty({ enum: flowRunStates, enumName: 'FlowRunState' })
  state: FlowRunState;
  /** Cause of the run; absent: that of the run with which the flow began is told by its task. */
  @ApiProperty({ enum: runTriggers, enumName: 'RunTrigger' })
  trigger?: RunTrigger;
  /** Ids of the tasks that it follows. */
  parentRuns: string[];
  /** Time at which it was made, in epoch milliseconds; of the run with which the flow began, that of its end. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  createdAt: number;
  /** Time at which it came into the queue of its request, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  queuedAt?: number;
  /** Time of its end, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  endedAt?: number;
  /** Its task; of a run that was tried again, the last one. */
  taskId?: string;
  /** State of that task. */
  @ApiProperty({ enum: taskStates, enumName: 'TaskState' })
  taskState?: TaskState;
  /** Reason for which its followers are told nothing of what it wrote into outputs.json. */
  outputsProblem?: string;
}

/** Runs that follow each other. */
export class FlowDto {
  /** The flow. */
  id: string;
  /** Request of the run with which it began; absent where the caller may not read it. */
  requestId?: string;
  /** Time at which that run ended, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  startedAt: number;
  /** Its runs, in the order in which they were made: those of requests that the caller may read. */
  runs: FlowRunDto[];
  /** Number of runs that were not made, because the flow had as many as it may have. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  refusedRuns: number;
}

/** From which request on a flow is run again. */
export class FlowRerunDto {
  /** The request whose newest run in the flow is run once more, with the same options; its followers follow again. */
  @Text('name')
  from: string;
  /** Reason for it. */
  @IsOptional()
  @Text('message')
  message?: string;
}

/** A request among those that follow each other. */
export class FlowRequestDto {
  /** The request. */
  requestId: string;
  /** Its type. */
  @ApiProperty({ enum: requestTypes, enumName: 'RequestType' })
  requestType: RequestType;
  /** Its state. */
  @ApiProperty({ enum: requestStates, enumName: 'RequestState' })
  state: RequestState;
  /** Its newest run in a flow. */
  lastRun?: FlowRunDto;
}

/** One request follows another. */
export class FlowEdgeDto {
  /** The request that runs after the other one. */
  requestId: string;
  /** The request that it follows. */
  parentId: string;
  /** The ends of the parent that count. */
  @ApiProperty({ enum: followConditions, enumName: 'FollowCondition' })
  on: FollowCondition;
}

/** The requests that are connected with one by following each other. */
export class RequestFlowDto {
  /** Those that the caller may read, in the order of their ids. */
  requests: FlowRequestDto[];
  /** Who follows whom. */
  edges: FlowEdgeDto[];
  /** False: there are more than are told. */
  isComplete: boolean;
}
