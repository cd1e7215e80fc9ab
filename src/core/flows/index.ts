export {
  type Flow,
  type FlowChange,
  type Follower,
  type FollowUp,
  followUps,
  isOver,
  meets,
  type RunEnd,
  runKey,
} from './follow-ups.js';
export { mostFollowers, mostParents, mostRunsOfFlow } from './limits.js';
export {
  type FlowEdge,
  followProblems,
  namedParents,
  neverFollows,
  type ParentFacts,
  parentProblems,
  pathUp,
  withFollowers,
} from './parents.js';
export { startWait, type InService } from './start-order.js';
export { releasable, type ReleaseFacts } from './release.js';
export { flowRunState, type FlowRunState, flowRunStates } from './run-states.js';
export {
  mostOutputBytes,
  type Outputs,
  outputsFile,
  parentRunsVariable,
  parentVariables,
  readOutputs,
  withoutParentVariables,
} from './outputs.js';
