import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { metadataLevels, type TaskMetadata } from '../../../core/model/task.js';
import { OneOf, Text } from '../../../platform/http/fields.js';
import { TaskIdDto } from '../dto/task-id.dto.js';

/** A note for a task. */
export class TaskMetadataRequestDto {
  /** Kind of the note, in a word of your own (unless the service is configured with a list) without '/'. */
  @Text('name')
  type: string;
  /** The note in a line. */
  @Text('note')
  title: string;
  /** More about it. */
  @IsOptional()
  @Text('note')
  message?: string;
  /** Severity of the note; INFO unless given. */
  @IsOptional()
  @OneOf(metadataLevels, 'TaskMetadataLevel')
  level?: TaskMetadata['level'];
}

/** A note that was attached to a task. */
export class TaskMetadataDto implements TaskMetadata {
  /** The task. */
  taskId: TaskIdDto;
  /** Time at which it was attached, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Kind of the note. */
  type: string;
  /** The note in a line. */
  title: string;
  /** More about it. */
  message?: string;
  /** User who attached it. */
  user?: string;
  /** Severity of the note. */
  @ApiProperty({ enum: metadataLevels, enumName: 'TaskMetadataLevel' })
  level: TaskMetadata['level'];
}
