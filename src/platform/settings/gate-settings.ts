import { z } from 'zod';
import { targetList, timeout } from './bounds.js';

/** What a header may have; anything else would be refused at each question. */
export const secretPattern = /^[\x21-\x7e](?:[\x20-\x7e]{0,8190}[\x21-\x7e])?$/;
const secret = () => z.string().regex(secretPattern, 'must be one line of printable ASCII characters');

/** How services below one address are told who asks. */
export const AskCredentials = z
  .strictObject({
    username: z
      .string()
      .regex(/^[^\p{Cc}:]{1,500}$/u, 'must be a name without a colon')
      .optional()
      .describe('User name for Basic authentication; default: the secret is a bearer token'),
    secret: secret().optional().describe('The token, or the password of that user'),
    secretFile: z
      .string()
      .min(1)
      .max(4_096)
      .optional()
      .describe('File with the secret; it is read for each question, so it may change'),
    secretVariable: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
      .optional()
      .describe('Environment variable of the scheduler with the secret'),
    groups: z
      .array(z.string().min(1).max(1_000))
      .min(1)
      .optional()
      .describe('Only requests of these groups get answers with them; default: all requests'),
  })
  .refine(
    (given) => [given.secret, given.secretFile, given.secretVariable].filter((one) => one !== undefined).length === 1,
    'needs exactly one of secret, secretFile and secretVariable',
  );
export type AskCredentials = z.infer<typeof AskCredentials>;

const isPlainAddress = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '');
};

/** Gates of deploys, and autoscaling, that ask by HTTP. */
export const GateSettings = z.strictObject({
  allowedTargets: targetList()
    .optional()
    .describe(
      'Hosts that gates and autoscaling may ask: names (`*.example.com`: all below), addresses, ranges. Private addresses only by address or range. Default: any public address',
    ),
  credentials: z
    .record(z.string(), AskCredentials)
    .check(({ value, issues }) => {
      for (const address of Object.keys(value).filter((key) => !isPlainAddress(key))) {
        const message = 'must be an http or https URL without user, query and fragment';
        issues.push({ code: 'custom', path: [address], message, input: value });
      }
    })
    .optional()
    .describe(
      'Credentials for gates and autoscaling, by the address that services get them at and below: `username`, one of `secret`, `secretFile` and `secretVariable`, and `groups` ([gates](gates.md#credentials)). Default: none',
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
