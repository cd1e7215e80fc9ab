/** Parents of a request. */
export const mostParents = 20;
/** Followers of a request. */
export const mostFollowers = 100;
/** Runs of a flow: ANY multiplies where branches meet again. */
export const mostRunsOfFlow = 1_000;
