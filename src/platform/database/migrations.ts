import { Leadership1763700000000 } from '../../../migrations/1763700000000-leadership.js';
import { Requests1763700100000 } from '../../../migrations/1763700100000-requests.js';
import { Deploys1763700200000 } from '../../../migrations/1763700200000-deploys.js';
import { Tasks1763700300000 } from '../../../migrations/1763700300000-tasks.js';
import { Machines1763700400000 } from '../../../migrations/1763700400000-machines.js';
import { History1763700500000 } from '../../../migrations/1763700500000-history.js';
import { Webhooks1763700600000 } from '../../../migrations/1763700600000-webhooks.js';
import { StatusUpdates1763800300000 } from '../../../migrations/1763800300000-status-updates.js';

/** Every migration, in order. Named here one by one: what is compiled in is what runs. */
export const migrations = [
  Leadership1763700000000,
  Requests1763700100000,
  Deploys1763700200000,
  Tasks1763700300000,
  Machines1763700400000,
  History1763700500000,
  Webhooks1763700600000,
  StatusUpdates1763800300000,
];
