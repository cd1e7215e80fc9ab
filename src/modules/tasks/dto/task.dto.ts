import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { RunOriginDto } from './run-origin.dto.js';
import { TaskIdDto, PendingTaskIdDto } from './task-id.dto.js';
import { ClusterArtifactDto, ObjstoreUploaderFileDto } from '../../deploys/dto/artifacts.dto.js';
import { DeployDto } from '../../deploys/dto/deploy.dto.js';
import { ResourcesDto } from '../../deploys/dto/deploy-options.dto.js';
import { RequestDto } from '../../requests/dto/request.dto.js';
import { Text } from '../../../platform/http/fields.js';
import type { TaskStatistics } from '../../../cluster/cluster-driver.js';
import type {
  ClusterStringValue,
  ClusterOfferObject,
  ClusterRangeObject,
  ClusterRangesObject,
  ClusterResourceObject,
  ClusterParameter,
  ClusterLabels,
  ClusterExecutorInfo,
  ClusterTaskObject,
  PendingTask,
  TaskRequest,
  Task,
} from '../../../core/model/task.js';
import { Since } from '../../../platform/http/since.js';

const anyObject = { type: 'object', additionalProperties: true } as const;

/** A text in the cluster's own notation. */
export class ClusterStringValueDto implements ClusterStringValue {
  /** The text. */
  value?: string;
}

/** The machine a task was given to. */
@ApiSchema({ name: 'ClusterOfferObjectDto' })
export class ClusterOfferDto implements ClusterOfferObject {
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
  /** Address of the machine's agent. */
  @ApiProperty(anyObject)
  url?: Record<string, unknown>;
}

/** A range of numbers, both ends included. */
@ApiSchema({ name: 'ClusterRangeObjectDto' })
export class ClusterRangeDto implements ClusterRangeObject {
  /** First number. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  begin?: number;
  /** Last number. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  end?: number;
}

/** Ranges of numbers. */
@ApiSchema({ name: 'ClusterRangesObjectDto' })
export class ClusterRangesDto implements ClusterRangesObject {
  /** The ranges. */
  range?: ClusterRangeDto[];
}

/** One resource that a task holds: cpus, mem, disk or ports. */
@ApiSchema({ name: 'ClusterResourceObjectDto' })
export class ClusterResourceDto implements ClusterResourceObject {
  /** Name of the resource. */
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
export class ClusterParameterDto implements ClusterParameter {
  /** Name of the label. */
  key: string;
  /** Value of the label. */
  value: string;
}

/** Labels of a task. */
export class ClusterLabelsDto implements ClusterLabels {
  /** The labels. */
  labels?: ClusterParameterDto[];
}

/** Program that runs a task's command in its place. */
export class ClusterExecutorInfoDto implements ClusterExecutorInfo {
  /** Id of the executor. */
  executorId?: ClusterStringValueDto;
}

/** The launch as it was sent to the machine. */
@ApiSchema({ name: 'ClusterTaskObjectDto' })
export class ClusterTaskDto implements ClusterTaskObject {
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
  /** Resources of the machine that the task holds. */
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
const textMap = { type: 'object', additionalProperties: { type: 'string' } } as const;

/** A task that waits for its time or for a machine, with what this run of it overrides. */
export class PendingTaskDto extends RunOriginDto implements PendingTask {
  /** Its id. */
  pendingTaskId: PendingTaskIdDto;
  /** Arguments of this run, after those of the deploy. */
  cmdLineArgsList?: string[];
  /** User who asked for the run. */
  user?: string;
  /** Id of the run. */
  runId?: string;
  /** Take the task for healthy as soon as it runs. */
  skipHealthchecks?: boolean;
  /** Text that the user gave with the run. */
  message?: string;
  /** Resources in place of the deploy's. */
  resources?: ResourcesDto;
  /** Further files to upload to the object store. */
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFileDto[];
  /** User to run as in place of the deploy's. */
  runAsUserOverride?: string;
  /** Environment variables in place of the deploy's. */
  @ApiProperty(textMap)
  envOverrides?: Record<string, string>;
  /** Attributes that a slave must have, in place of the request's. */
  @ApiProperty(textMap)
  requiredSlaveAttributeOverrides?: Record<string, string>;
  /** Attributes that a slave may have, in place of the request's. */
  @ApiProperty(textMap)
  allowedSlaveAttributeOverrides?: Record<string, string>;
  /** Further files to fetch into the sandbox. */
  extraArtifacts?: ClusterArtifactDto[];
  /** Id of the action that asked for it. */
  actionId?: string;
  /** Its time came while it had to wait for another run, and it keeps its place behind that. */
  @Since('muster')
  buffered?: boolean;
}

/** A pending task with all that is needed to launch it. */
export class TaskRequestDto implements TaskRequest {
  /** The request as it will be when the task runs. */
  request: RequestDto;
  /** Deploy that it will run. */
  deploy: DeployDto;
  /** The task that waits. */
  pendingTask: PendingTaskDto;
}

const int64 = { type: 'integer', format: 'int64' } as const;

/** Use of a task at present, as its machine measures it. Values that the machine cannot measure are left out. */
@ApiSchema({ name: 'ClusterTaskStatisticsObjectDto' })
export class TaskStatisticsDto implements Partial<Omit<TaskStatistics, 'taskId'>> {
  /** Time of the measurement, in seconds since 1970. */
  timestamp?: number;
  /** Cores it may use, a part of one counted as one. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  cpusLimit?: number;
  /** Cores it may use, with the part of one. Clients read cpusLimit as a whole number. */
  @Since('muster')
  cpusLimitExact?: number;
  /** Periods in which its use of the processor was limited. */
  @ApiProperty(int64)
  cpusNrPeriods?: number;
  /** Number of those periods in which it wanted more. */
  @ApiProperty(int64)
  cpusNrThrottled?: number;
  /** Processor time spent in the kernel, in seconds. */
  cpusSystemTimeSecs?: number;
  /** Time for which it was held back, in seconds. */
  cpusThrottledTimeSecs?: number;
  /** Processor time spent in its own code, in seconds. */
  cpusUserTimeSecs?: number;
  /** Anonymous memory, in bytes. */
  @ApiProperty(int64)
  memAnonBytes?: number;
  /** Memory that caches files, in bytes. */
  @ApiProperty(int64)
  memFileBytes?: number;
  /** Memory it may use, in bytes. */
  @ApiProperty(int64)
  memLimitBytes?: number;
  /** Memory that maps files, in bytes. */
  @ApiProperty(int64)
  memMappedFileBytes?: number;
  /** Resident memory, in bytes. */
  @ApiProperty(int64)
  memRssBytes?: number;
  /** All memory, in bytes. */
  @ApiProperty(int64)
  memTotalBytes?: number;
  /** Disk it may use, in bytes. */
  @ApiProperty(int64)
  diskLimitBytes?: number;
  /** Disk it uses, in bytes. */
  @ApiProperty(int64)
  diskUsedBytes?: number;
}

/** A task as it was launched. */
export class TaskDto implements Task {
  /** Request, deploy and pending task that it was launched from. */
  taskRequest: TaskRequestDto;
  /** Its id. */
  taskId: TaskIdDto;
  /** The first of offers. */
  offer?: ClusterOfferDto;
  /** The machine it was given to. */
  offers?: ClusterOfferDto[];
  /** The launch as it was sent to the machine. */
  clusterTask?: ClusterTaskDto;
  /** Rack of the machine. */
  rackId: string;
}

/** A file on a slave. */
export class SlaveFileQuery {
  /** Name of the slave's machine. */
  @Text('name')
  slaveHostname: string;
  /** Absolute path of the file, in the sandbox of a task. */
  @Text('path')
  path: string;
}
