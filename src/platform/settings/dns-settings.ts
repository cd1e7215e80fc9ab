import { z } from 'zod';

const domain = /^(?=.{1,200}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Names of services. */
export const DnsSettings = z.strictObject({
  port: z
    .number()
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe(
      'Port, UDP and TCP, at which DNS queries for services are answered, to everybody who reaches it; default: none',
    ),
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen at for DNS queries'),
  domain: z
    .string()
    .regex(domain, 'must be a domain in small letters, such as muster.internal')
    .default('muster.internal')
    .describe('Domain of these names, such as web.muster.internal'),
  loadBalancerGroup: z
    .string()
    .min(1)
    .default('dns')
    .describe('Only services whose active deploy has this group in loadBalancerGroups have names'),
});
