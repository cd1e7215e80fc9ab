import { z } from 'zod';
import { count, millis, seconds, timeout } from './bounds.js';

/** Deploys, and when a task is healthy. */
export const deploySettings = {
  maxConcurrentHealthchecks: count(1)
    .default(128)
    .describe('Health checks at once; the others wait in line. Those that have no answer after 250 ms do not count'),
  healthcheckPortNumbers: z
    .array(z.number().int().min(1).max(65_535))
    .default([])
    .describe('Fixed ports that health checks may ask for by portNumber, besides the ports of the task itself'),
  maxHealthcheckResultsPerTask: count(1)
    .default(100)
    .describe('Results of health checks that are kept of a task, the newest'),
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
  healthcheckMaxRetries: count()
    .optional()
    .describe('Failed health checks after which a task is unhealthy, less one; default: any number'),
  healthcheckMaxTotalTimeoutSeconds: seconds()
    .optional()
    .describe('Longest total health check time a deploy may ask for'),
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
    .describe('Where the load balancer takes changes; default: there is none'),
  loadBalancerQueryParams: z
    .record(z.string(), z.string())
    .default({})
    .describe('Query parameters of these calls, such as a key'),
  loadBalancerRequestTimeoutMillis: timeout(1).default(2_000).describe('Time for one call to the load balancer'),
  loadBalancerRemovalGracePeriodMillis: millis()
    .default(0)
    .describe('How long a task runs on after the load balancer has let go of it'),
  deleteRemovedRequestsFromLoadBalancer: z
    .boolean()
    .default(false)
    .describe(
      'Whether the service of a deleted request goes from the load balancer, unless the deletion says so itself',
    ),
  preResolveUpstreamDNS: z
    .boolean()
    .default(false)
    .describe('Whether the load balancer is asked to resolve host names of upstreams itself, beforehand'),
  skipDNSPreResolutionForRequests: z
    .array(z.string())
    .default([])
    .describe('Requests for which preResolveUpstreamDNS does not hold'),
  taskLabelForLoadBalancerUpstreamGroup: z
    .string()
    .optional()
    .describe('Label of a task that names the group of its upstream'),
  checkUpstreamsEverySeconds: seconds()
    .default(600)
    .describe('Time between two searches for upstreams behind which there is no task (poller `upstream-check`)'),
};
