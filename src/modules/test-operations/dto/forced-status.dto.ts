import { type TaskState, taskStates } from '../../../core/model/enums.js';
import { PathWord } from '../../../platform/http/query.js';

/** Into which state a task is put. */
export class ForcedStatusParams {
  /** The state. */
  @PathWord(taskStates)
  taskState: TaskState;
}
