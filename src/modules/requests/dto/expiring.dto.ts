import { ApiProperty } from '@nestjs/swagger';
import {
  BounceRequestDto,
  PauseRequestDto,
  PriorityRequestDto,
  ScaleRequestDto,
  SkipHealthchecksRequestDto,
} from './actions.dto.js';

/** A change that will be undone by itself. */
export class ExpiringActionDto {
  /** Id of the request. */
  requestId: string;
  /** Who made the change. */
  user?: string;
  /** When it was made, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  startMillis: number;
  /** Id of the action. */
  actionId: string;
}

/** A bounce that is given up when it takes too long. */
export class ExpiringBounceDto extends ExpiringActionDto {
  /** The deploy whose tasks are replaced. */
  deployId: string;
  /** What was asked for. */
  expiringAPIRequestObject: BounceRequestDto;
}

/** A pause that ends by itself. */
export class ExpiringPauseDto extends ExpiringActionDto {
  /** What was asked for. */
  expiringAPIRequestObject: PauseRequestDto;
}

/** A number of instances that holds for a while. */
export class ExpiringScaleDto extends ExpiringActionDto {
  /** What was asked for. */
  expiringAPIRequestObject: ScaleRequestDto;
  /** The number that is restored; absent: none, which means one. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  revertToInstances?: number;
  /** Bounce again when the number is restored. */
  bounce?: boolean;
}

/** A priority that holds for a while. */
export class ExpiringPriorityDto extends ExpiringActionDto {
  /** What was asked for. */
  expiringAPIRequestObject: PriorityRequestDto;
  /** The taskPriorityLevel that is restored; absent: none, which means that of the request's type. */
  @ApiProperty({ type: 'number', format: 'double' })
  revertToPriority?: number;
}

/** Health checks that are skipped, or not, for a while. */
export class ExpiringSkipHealthchecksDto extends ExpiringActionDto {
  /** What was asked for. */
  expiringAPIRequestObject: SkipHealthchecksRequestDto;
  /** The value that is restored; absent: none. */
  revertToSkipHealthchecks?: boolean;
}
