import { z } from 'zod';
import { longestText } from '../http/input-limits.js';
import { count, timeout } from './bounds.js';
import { isAtRoot } from './page-settings.js';

export const mostWorkers = 64;

/** HTTP server of the API. */
export const httpSettings = {
  maxRequestBodyBytes: count(0, 268_435_456).default(10_485_760).describe('Largest body of a call'),
  cors: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Whether pages of other origins may call the API'),
      allowedOrigins: z.array(z.string()).default(['*']).describe('Those that may; *: all of them'),
      allowedMethods: z
        .array(z.string())
        .default(['OPTIONS', 'GET', 'PUT', 'POST', 'DELETE', 'HEAD'])
        .describe('Methods they may use'),
      allowedHeaders: z
        .array(z.string())
        .default(['X-Requested-With', 'Content-Type', 'Accept', 'Origin', 'Authorization', 'Idempotency-Key', 'Prefer'])
        .describe('Headers they may send'),
      allowCredentials: z.boolean().default(true).describe('Whether cookies and credentials may come along'),
    })
    .prefault({}),
  enableCorsFilter: z.boolean().default(false).describe('Older name of cors.enabled'),
  http: z
    .strictObject({
      contextPath: z
        .string()
        .max(longestText.name)
        .regex(/^(\/[\w~-][\w.~-]*)*$/, 'must be empty or a path such as /scheduler, without a slash at its end')
        .refine((path) => !isAtRoot(path), 'is a path that answers at the root as well')
        .default('')
        .describe(
          'Path below which everything stands: API, page, documents. /healthz, /readyz, /metrics and / answer at the root, too',
        ),
      allowedHosts: z
        .array(
          z
            .string()
            .regex(
              /^(\*\.)?[\w.-]+(:\d{1,5})?$|^\[[\da-fA-F:.]+\](:\d{1,5})?$/,
              'must be a host name, with a port or without, or *. and a domain',
            ),
        )
        .default([])
        .describe(
          'Further names by which callers reach this service, such as that of a proxy; *.example.com: all names below. Loopback names, the bound and the advertised address are known',
        ),
      workers: z
        .number()
        .int()
        .min(0)
        .max(mostWorkers)
        .optional()
        .describe(
          'Processes that serve the API, so that callers do not delay the process that schedules; 0: that one serves it as well. Unless set: half of the cores, 4 at most, and none below 4 cores (MUSTER_HTTP_WORKERS)',
        ),
      idempotencyKeyHours: z
        .number()
        .int()
        .min(1)
        .max(720)
        .default(24)
        .describe('Hours for which a call with an Idempotency-Key that is repeated gets the first answer'),
      maxConcurrentCalls: count()
        .default(1_000)
        .describe('Calls answered at a time; more are refused with 503. API workers share the number evenly'),
      maxCallsInWorkPerCaller: count(1)
        .default(4)
        .describe(
          'Calls of one user, administrators excepted, that are worked on at a time while authentication is on; further ones wait. While others call who have taken less time, each of these turns rests three times as long as its call took',
        ),
      placesForAdministrators: count()
        .default(50)
        .describe('Calls of administrators answered beyond these, while it is known who calls'),
      requestTimeoutMillis: timeout().default(180_000).describe('Time for a caller to send a whole call'),
      bodyTimeoutMillis: timeout(100)
        .default(10_000)
        .describe('Time for the body of a call; longer only while 64 KB or more come each second'),
      maxUnfinishedBodiesPerAddress: count(1)
        .default(500)
        .describe('Bodies of calls from one address that are waited for; further ones have half a second'),
      answerTimeoutMillis: timeout(100)
        .default(30_000)
        .describe('Time for a caller to read more of its answer; then its connection ends'),
      headersTimeoutMillis: timeout().default(30_000).describe('Time for a caller to send the headers of a call'),
      keepAliveTimeoutMillis: timeout().default(65_000).describe('How long a connection without calls is kept'),
    })
    .prefault({}),
};
