import { z } from 'zod';
import { count, millis, seconds, timeout } from './bounds.js';

/** Deploys, and when a task is healthy. */
export const deploySettings = {
  maxConcurrentHealthchecks: count(1)
    .default(128)
    .describe('Health checks at a time; others wait. A check without an answer after 250 ms no longer counts'),
  healthcheckPortNumbers: z
    .array(z.number().int().min(1).max(65_535))
    .default([])
    .describe('Fixed ports that health checks may name in portNumber, in addition to the ports of the task'),
  maxHealthcheckResultsPerTask: count(1)
    .default(100)
    .describe('Newest results of health checks that are kept per task'),
  cooldownMinScheduleSeconds: seconds().default(120).describe('Earliest start of a task while its request cools down'),
  deployHealthyBySeconds: seconds().default(120).describe('Time in which a deploy step must become healthy'),
  considerTaskHealthyAfterRunningForSeconds: seconds()
    .default(5)
    .describe('Time after which a running task without health check counts as healthy'),
  defaultDeployStepWaitTimeMs: millis().default(0).describe('Wait between two steps of an incremental deploy'),
  defaultDeployMaxTaskRetries: count().default(0).describe('Failed tasks that a deploy tolerates'),
  healthcheckIntervalSeconds: seconds().default(5).describe('Wait after a failed health check'),
  healthcheckTimeoutSeconds: seconds().default(5).describe('Time for one health check'),
  startupTimeoutSeconds: seconds().default(45).describe('Time in which connection refusals are tolerated'),
  startupIntervalSeconds: seconds().default(2).describe('Wait between health checks while connections are refused'),
  startupDelaySeconds: seconds().optional().describe('Wait before the first health check'),
  healthcheckMaxRetries: count().optional().describe('Tolerated failed health checks of a task; default: any number'),
  healthcheckMaxTotalTimeoutSeconds: seconds().optional().describe('Longest total time of health checks in a deploy'),
  healthcheckFailureStatusCodes: z
    .array(z.number().int().min(100).max(599))
    .default([])
    .describe('Status codes that make a task unhealthy at once'),
  maxHealthcheckResponseBodyBytes: count(0, 1_048_576)
    .default(8_192)
    .describe('Bytes of a health check answer that are kept'),
  newTaskCheckerBaseDelaySeconds: seconds().default(1).describe('First delay of the check of new tasks'),
  checkNewTasksEverySeconds: seconds()
    .default(5)
    .describe('Time between two checks of a new task (poller `new-tasks`)'),
};

/** The load balancer in front of tasks. */
export const loadBalancerSettings = {
  loadBalancerUri: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Address of the load balancer for changes; default: none'),
  loadBalancerQueryParams: z
    .record(z.string(), z.string())
    .default({})
    .describe('Query parameters of these calls, such as a key'),
  loadBalancerRequestTimeoutMillis: timeout(1).default(2_000).describe('Time for one call to the load balancer'),
  loadBalancerRemovalGracePeriodMillis: millis()
    .default(0)
    .describe('Time for which a task goes on after it left the load balancer'),
  deleteRemovedRequestsFromLoadBalancer: z
    .boolean()
    .default(false)
    .describe('Remove the service of a deleted request from the load balancer, unless the deletion decides it'),
  preResolveUpstreamDNS: z
    .boolean()
    .default(false)
    .describe('Ask the load balancer to resolve host names of upstreams in advance'),
  skipDNSPreResolutionForRequests: z
    .array(z.string())
    .default([])
    .describe('Requests that preResolveUpstreamDNS does not affect'),
  taskLabelForLoadBalancerUpstreamGroup: z
    .string()
    .optional()
    .describe('Label of a task that names the group of its upstream'),
  checkUpstreamsEverySeconds: seconds()
    .default(600)
    .describe('Time between two searches for upstreams without a task (poller `upstream-check`)'),
};
