import { followConditions, type FollowCondition } from '../../../core/model/enums.js';
import type { Parent } from '../../../core/model/request.js';
import { OneOf, Text } from '../../../platform/http/fields.js';

/** A request whose runs are followed by runs of another one. */
export class ParentDto implements Parent {
  /** The request: SCHEDULED, ON_DEMAND or RUN_ONCE. */
  @Text('name')
  requestId: string;
  /** The ends that count: SUCCESS (TASK_FINISHED), FAILURE (any other, unless the next run of its schedule replaced it), END (every one); retries come first. */
  @OneOf(followConditions, 'FollowCondition')
  on: FollowCondition;
}
