import { ErrorDto } from '../../../platform/http/error.dto.js';

/** The answer of an instance that would have to lead for what was asked of it. */
export class NotLeaderErrorDto extends ErrorDto {
  /** Address of the instance that leads; absent when none does at present. */
  leader?: string;
}
