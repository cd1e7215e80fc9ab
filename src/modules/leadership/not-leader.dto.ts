import { ErrorDto } from '../../platform/http/error.dto.js';

/** Refusal of an instance that does not lead. */
export class NotLeaderDto extends ErrorDto {
  /** Address of the instance that leads; absent while none does. */
  leader?: string;
}
