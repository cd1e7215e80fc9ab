import { z } from 'zod';
import { targetList, timeout } from './bounds.js';

/** Gates of deploys that ask by HTTP. */
export const GateSettings = z.strictObject({
  allowedTargets: targetList()
    .optional()
    .describe(
      'Hosts that gates may ask: names (`*.example.com`: all below), addresses, ranges. Private addresses only by address or range. Default: any public address',
    ),
  requestTimeoutMillis: timeout(1).default(5_000).describe('Time for one answer to a gate'),
});

export const PrometheusSettings = z.strictObject({
  uri: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Address of the Prometheus that PROMETHEUS gates ask unless they name one; gates.allowedTargets does not apply',
    ),
});
