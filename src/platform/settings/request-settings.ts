import { z } from 'zod';
import { longestText } from '../http/input-limits.js';
import { count, days } from './bounds.js';

/** Bounds of what is stored, and what requests and runs may say. */
export const requestSettings = {
  maxUserIdSize: count(0, longestText.name)
    .default(100)
    .describe('Longest id of a user who keeps settings, in characters'),
  maxRequestIdSize: count(0, longestText.name).default(100).describe('Longest request id, in characters'),
  maxRecordBytes: count(16_384, 16_777_216)
    .default(262_144)
    .describe('Largest request, deploy or run as a whole, in bytes of its JSON; what is stored and larger goes on'),
  maxRequestsPerGroup: count(1)
    .default(20_000)
    .describe('Requests of one group; those without a group count as one; beyond, new ones are refused with 400'),
  maxPendingRunsPerRequest: count(1)
    .default(5_000)
    .describe('Runs of one request that were asked for and wait; beyond, new ones are refused with 429'),
  maxPendingRunsPerGroup: count(1)
    .default(20_000)
    .describe('The same of all requests of one group; those without a group count as one'),
  maxRunIdSize: count(0, longestText.name).default(100).describe('Longest id of a run, in characters'),
  maxStarredRequestsPerUser: count().default(5_000).describe('Requests that one user may star'),
  maxDeployIdSize: count(0, longestText.name).default(50).describe('Longest deploy id, in characters'),
  createDeployIds: z.boolean().default(false).describe('Make an id for a deploy that is sent without one'),
  deployIdLength: z.number().int().min(4).max(32).default(8).describe('Length of such an id'),
  enforceSignedArtifacts: z.boolean().default(false).describe('Refuse deploys with artifacts that are not signed'),
  validDockerRegistries: z.array(z.string()).default([]).describe('Registries images may come from; empty: any'),
  allowRequestsWithoutOwners: z.boolean().default(true).describe('Whether a request may name no owners'),
  allowDeployOfPausedRequests: z
    .boolean()
    .default(false)
    .describe('Whether a paused request can be deployed; nothing runs until it is unpaused'),
  allowBounceToSameHost: z
    .boolean()
    .default(false)
    .describe('Whether the replacement of a bounced task may run where the old one still does'),
  maxRunNowTaskLaunchDelayDays: days().default(30).describe('How far ahead runAt may lie'),
  maxActiveOnDemandTasksPerRequest: count()
    .default(0)
    .describe('Runs at once of an ON_DEMAND request without instances; 0: any number'),
};
