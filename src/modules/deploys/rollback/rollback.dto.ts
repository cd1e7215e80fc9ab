import { IsBoolean, IsOptional, IsString } from 'class-validator';
import { RequestParentDto } from '../../requests/dto/request-parent.dto.js';

/** Which earlier deploy of a request is deployed again. */
export class RollbackRequestDto {
  /** The earlier deploy, whether it succeeded or not; unless given, the last successful one before the active deploy. */
  @IsOptional()
  @IsString()
  deployId?: string;
  /** Why; unless given, it names the earlier deploy. */
  @IsOptional()
  @IsString()
  message?: string;
  /** Unpause a paused request when the deploy succeeds. */
  @IsOptional()
  @IsBoolean()
  unpauseOnSuccessfulDeploy?: boolean;
  /** The same as the parameter of this name, which goes first. */
  @IsOptional()
  @IsString()
  checkIndex?: string;
}

/** The request while an earlier deploy of it is deployed again, and under which id. */
export class RollbackDto extends RequestParentDto {
  /** The new deploy. */
  deployId: string;
  /** The earlier deploy that it repeats. */
  rolledBackTo: string;
}
