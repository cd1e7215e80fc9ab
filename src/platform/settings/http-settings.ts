import { z } from 'zod';
import { longestText } from '../http/input-limits.js';
import { count, timeout } from './bounds.js';
import { isAtRoot } from './page-settings.js';

export const mostWorkers = 64;

/** HTTP server of the API. */
export const httpSettings = {
  maxRequestBodyBytes: count(0, 268_435_456).default(10_485_760).describe('Largest body of a call, in bytes'),
  cors: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Allow pages of other origins to call the API'),
      allowedOrigins: z.array(z.string()).default(['*']).describe('Allowed origins; *: all'),
      allowedMethods: z
        .array(z.string())
        .default(['OPTIONS', 'GET', 'PUT', 'POST', 'DELETE', 'HEAD'])
        .describe('Allowed methods'),
      allowedHeaders: z
        .array(z.string())
        .default(['X-Requested-With', 'Content-Type', 'Accept', 'Origin', 'Authorization', 'Idempotency-Key', 'Prefer'])
        .describe('Allowed headers'),
      allowCredentials: z.boolean().default(true).describe('Allow cookies and credentials'),
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
          'Path below which all others are: API, page, documents. /healthz, /readyz, /metrics and / answer at the root, too',
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
          'Further host names of this service, such as that of a proxy; *.example.com: all names below. Loopback names, the bound and the advertised address, and that of ui.baseUrl, are always allowed',
        ),
      workers: z
        .number()
        .int()
        .min(0)
        .max(mostWorkers)
        .optional()
        .describe(
          'Processes that serve the API, so that callers do not delay the scheduling process; 0: the scheduling process serves it. Default: half of the cores, at most 4, and none below 4 cores (MUSTER_HTTP_WORKERS)',
        ),
      idempotencyKeyHours: z
        .number()
        .int()
        .min(1)
        .max(720)
        .default(24)
        .describe('Hours in which a repeated call with an Idempotency-Key gets the first answer'),
      maxConcurrentCalls: count()
        .default(1_000)
        .describe('Calls at a time; more are refused with 503. API workers share the number evenly'),
      maxCallsInWorkPerCaller: count(1)
        .default(4)
        .describe(
          'Calls of one user at a time, with authentication and except administrators; further ones wait. While users who used less time are active, each turn rests three times as long as its call took',
        ),
      placesForAdministrators: count()
        .default(50)
        .describe('Further calls of administrators at a time, with authentication'),
      requestTimeoutMillis: timeout().default(180_000).describe('Time for a caller to send a whole call'),
      bodyTimeoutMillis: timeout(100)
        .default(10_000)
        .describe('Time for the body of a call; longer only while at least 64 KB arrive each second'),
      maxUnfinishedBodiesPerAddress: count(1)
        .default(500)
        .describe('Bodies of calls from one address that may arrive slowly; further ones have half a second'),
      answerTimeoutMillis: timeout(100)
        .default(30_000)
        .describe('Time for a caller to read more of its answer; then its connection ends'),
      headersTimeoutMillis: timeout().default(30_000).describe('Time for a caller to send the headers of a call'),
      keepAliveTimeoutMillis: timeout()
        .default(65_000)
        .describe('Time after which a connection without calls is closed'),
    })
    .prefault({}),
};
