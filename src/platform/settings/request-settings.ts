import { z } from 'zod';
import { longestText } from '../http/input-limits.js';
import { count, days } from './bounds.js';

/** Bounds of what is stored, and what requests and runs may say. */
export const requestSettings = {
  maxUserIdSize: count(0, longestText.name)
    .default(100)
    .describe('Longest id of a user with stored settings, in characters'),
  maxRequestIdSize: count(0, longestText.name).default(100).describe('Longest request id, in characters'),
  maxRecordBytes: count(16_384, 16_777_216)
    .default(262_144)
    .describe('Largest request, deploy or run as a whole, in bytes of its JSON; larger stored records stay valid'),
  maxRequestsPerGroup: count(1)
    .default(20_000)
    .describe(
      'Most requests of one group; requests without a group form one group; beyond, new ones are refused with 400',
    ),
  maxRecordMegabytesPerGroup: count(1, 65_536)
    .default(256)
    .describe(
      'Most that the requests of one group and their deploys in use take, in megabytes of their JSON; beyond, records of more than 4096 bytes are refused with 400',
    ),
  maxPendingRunsPerRequest: count(1)
    .default(5_000)
    .describe('Most waiting runs of one request; beyond, new ones are refused with 429'),
  maxPendingRunsPerGroup: count(1)
    .default(20_000)
    .describe('Most waiting runs of all requests of one group; requests without a group form one group'),
  maxPendingRunMegabytesPerGroup: count(1, 1_024)
    .default(64)
    .describe(
      'Most that the waiting runs of one group take, in megabytes of their JSON; beyond, new ones are refused with 429',
    ),
  maxRunIdSize: count(0, longestText.name).default(100).describe('Longest id of a run, in characters'),
  maxStarredRequestsPerUser: count().default(5_000).describe('Requests that one user may star'),
  maxDeployIdSize: count(0, longestText.name).default(50).describe('Longest deploy id, in characters'),
  createDeployIds: z.boolean().default(false).describe('Create an id for a deploy without one'),
  deployIdLength: z.number().int().min(4).max(32).default(8).describe('Length of such an id'),
  enforceSignedArtifacts: z.boolean().default(false).describe('Refuse deploys with artifacts that are not signed'),
  validDockerRegistries: z.array(z.string()).default([]).describe('Allowed registries of images; empty: any'),
  allowRequestsWithoutOwners: z.boolean().default(true).describe('Allow requests without owners'),
  allowDeployOfPausedRequests: z
    .boolean()
    .default(false)
    .describe('Allow deploys of paused requests; nothing runs until the request is unpaused'),
  allowBounceToSameHost: z
    .boolean()
    .default(false)
    .describe('Allow the replacement of a bounced task on the machine of the old one'),
  maxRunNowTaskLaunchDelayDays: days().default(30).describe('Longest time until runAt, in days'),
  maxActiveOnDemandTasksPerRequest: count()
    .default(0)
    .describe('Runs at once of an ON_DEMAND request without instances; 0: any number'),
};
