import { body, contract, del, get, path, post } from 'rest-contract';
import { z } from 'zod';
import type { BalancerRequestBody } from '../../core/load-balancer/index.js';
import { loadBalancerStates } from '../../core/model/enums.js';

const upstream = z.object({
  upstream: z.string(),
  requestId: z.string(),
  rackId: z.string().optional(),
  group: z.string(),
});

const requestBody: z.ZodType<BalancerRequestBody, BalancerRequestBody> = z.object({
  loadBalancerRequestId: z.string(),
  loadBalancerService: z.object({
    serviceId: z.string(),
    owners: z.array(z.string()),
    serviceBasePath: z.string().optional(),
    additionalPaths: z.array(z.string()),
    loadBalancerGroups: z.array(z.string()),
    options: z.record(z.string(), z.unknown()).optional(),
    templateName: z.string().optional(),
    domains: z.array(z.string()),
    edgeCacheDomains: z.array(z.string()),
    preResolveUpstreamDNS: z.boolean(),
  }),
  addUpstreams: z.array(upstream),
  removeUpstreams: z.array(upstream),
  replaceUpstreams: z.array(upstream),
  action: z.enum(['UPDATE', 'DELETE']),
  noValidate: z.boolean(),
  noReload: z.boolean(),
  upstreamUpdateOnly: z.boolean(),
  noDuplicateUpstreams: z.boolean(),
});

/** What is of interest in an answer; load balancers say more. */
const answer = z.object({ loadBalancerState: z.enum(loadBalancerStates), message: z.string().nullish() });
export type BalancerAnswer = z.infer<typeof answer>;

const changeId = path(z.string());

/** The load balancer's side of `loadBalancerUri`: changes by id, each carried out once however often it is sent. */
export const LoadBalancerApi = contract('LoadBalancerApi', {
  enqueue: post({ request: body(requestBody) }, answer, { path: '' }),
  state: get({ changeId }, answer, { path: '' }),
  cancel: del({ changeId }, answer, { path: '' }),
});

/** Its other address, which tells what a service consists of. Upstreams that others brought in may lack what we send. */
export const BalancerStateApi = contract('BalancerStateApi', {
  service: get(
    { serviceId: path(z.string()) },
    z.object({
      upstreams: z.array(
        z.object({
          upstream: z.string(),
          requestId: z.string().nullish(),
          rackId: z.string().nullish(),
          group: z.string().nullish(),
        }),
      ),
    }),
    { path: '' },
  ),
});
