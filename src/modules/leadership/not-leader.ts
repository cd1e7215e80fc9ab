import { SchedulerError } from '../../platform/errors.js';

/** Names the address to ask instead. */
export const notLeader = (leader: string | undefined): SchedulerError =>
  new SchedulerError(
    'NOT_LEADER',
    leader === undefined ? 'No instance leads at present' : `This instance does not lead; ${leader} does`,
    { extra: leader === undefined ? {} : { leader } },
  );
