import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { TaskIdDto } from './task-id.dto.js';
import { TaskRequestDto } from './task-request.dto.js';

const anyObject = { type: 'object', additionalProperties: true } as const;

/** A text in the cluster's own notation. */
export class ClusterStringValueDto {
  /** The text. */
  value?: string;
}

/** The machine a task was given to. */
@ApiSchema({ name: 'ClusterOfferObjectDto' })
export class ClusterOfferDto {
  /** Id of the slave, under its newer name. */
  agentId?: ClusterStringValueDto;
  /** Id of the slave. */
  slaveId?: ClusterStringValueDto;
  /** Id of the scheduler at the cluster. */
  frameworkId?: ClusterStringValueDto;
  /** Name of the machine. */
  hostname?: string;
  /** Id of the offer. */
  id?: ClusterStringValueDto;
  /** Where the machine's agent answers. */
  @ApiProperty(anyObject)
  url?: Record<string, unknown>;
}

/** A range of numbers, both ends included. */
@ApiSchema({ name: 'ClusterRangeObjectDto' })
export class ClusterRangeDto {
  /** First number. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  begin?: number;
  /** Last number. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  end?: number;
}

/** Ranges of numbers. */
@ApiSchema({ name: 'ClusterRangesObjectDto' })
export class ClusterRangesDto {
  /** The ranges. */
  range?: ClusterRangeDto[];
}

/** One resource that a task holds: cpus, mem, disk or ports. */
@ApiSchema({ name: 'ClusterResourceObjectDto' })
export class ClusterResourceDto {
  /** Which one. */
  name?: string;
  /** The numbers held, of ports. */
  ranges?: ClusterRangesDto;
  /** RANGES for ports, SCALAR for the others. */
  @ApiProperty({ enum: ['SCALAR', 'RANGES', 'SET'] })
  type?: 'SCALAR' | 'RANGES' | 'SET';
  /** The amount held, of the others. */
  @ApiProperty(anyObject)
  scalar?: Record<string, unknown>;
}

/** A label of a task. */
export class ClusterParameterDto {
  /** Name of the label. */
  key: string;
  /** Value of the label. */
  value: string;
}

/** Labels of a task. */
export class ClusterLabelsDto {
  /** The labels. */
  labels?: ClusterParameterDto[];
}

/** What runs a task's command in its place. */
export class ClusterExecutorInfoDto {
  /** Id of the executor. */
  executorId?: ClusterStringValueDto;
}

/** What was sent to the machine. */
@ApiSchema({ name: 'ClusterTaskObjectDto' })
export class ClusterTaskDto {
  /** Id of the task. */
  taskId?: ClusterStringValueDto;
  /** The executor, when it has one of its own. */
  executor?: ClusterExecutorInfoDto;
  /** Labels from the deploy. */
  labels?: ClusterLabelsDto;
  /** Id of the slave, under its newer name. */
  agentId?: ClusterStringValueDto;
  /** Id of the slave. */
  slaveId?: ClusterStringValueDto;
  /** What the task holds of the machine. */
  resources?: ClusterResourceDto[];
  /** Name of the task: the request's id. */
  name?: string;
  /** Command, arguments, files to fetch and environment. */
  @ApiProperty(anyObject)
  command?: Record<string, unknown>;
  /** The container, when there is one. */
  @ApiProperty(anyObject)
  container?: Record<string, unknown>;
}

/** A task as it was launched. */
export class TaskDto {
  /** What it was launched from. */
  taskRequest: TaskRequestDto;
  /** Its id. */
  taskId: TaskIdDto;
  /** The same as the first of offers. */
  offer?: ClusterOfferDto;
  /** The machine it was given to. */
  offers?: ClusterOfferDto[];
  /** What was sent to the machine. */
  clusterTask?: ClusterTaskDto;
  /** Rack of the machine. */
  rackId: string;
}
