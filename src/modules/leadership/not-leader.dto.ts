import { ErrorDto } from '../../platform/http/error.dto.js';

/** Why an instance cannot do what only the leader can. */
export class NotLeaderDto extends ErrorDto {
  /** Address of the instance that leads; absent while none does. */
  leader?: string;
}
