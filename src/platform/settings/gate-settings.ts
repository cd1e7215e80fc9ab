import { z } from 'zod';
import { targetList, timeout } from './bounds.js';

/** Gates of deploys, and autoscaling, that ask by HTTP. */
export const GateSettings = z.strictObject({
  allowedTargets: targetList()
    .optional()
    .describe(
      'Hosts that gates and autoscaling may ask: names (`*.example.com`: all below), addresses, ranges. Private addresses only by address or range. Default: any public address',
    ),
  requestTimeoutMillis: timeout(1).default(5_000).describe('Time for one answer to a gate, or to autoscaling'),
});

export const PrometheusSettings = z.strictObject({
  uri: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Address of the Prometheus that PROMETHEUS gates, and autoscaling by PROMETHEUS, ask unless they name one; gates.allowedTargets does not apply',
    ),
});
