import { z } from 'zod';
import { isSigningKey } from '../../core/base64.js';
import { count, hours, millis, targetList, timeout } from './bounds.js';

export const WebhookSettings = z.strictObject({
  maxQueuedUpdatesPerWebhook: count()
    .default(50)
    .describe(
      'Waiting updates of one webhook above which a failed update becomes a dead letter; more may wait (maxWaitingUpdatesPerWebhook), because a failing webhook gets one update at a time; 0: any number',
    ),
  deleteUndeliverableWebhooksAfterHours: hours()
    .int()
    .default(168)
    .describe('Age at which an undelivered update becomes a dead letter; 0: never'),
  maxConcurrent: count().default(100).describe('Deliveries in flight at once'),
  connectTimeoutMillis: timeout().default(5_000).describe('Time to connect to a receiver'),
  requestTimeoutMillis: timeout().default(60_000).describe('Time for a whole delivery'),
  firstRetryMillis: millis().default(1_000).describe('Wait after the first failed delivery; doubled each time'),
  lastRetryMillis: millis().default(600_000).describe('Longest wait between two deliveries of an update'),
  signingSecret: z
    .string()
    .refine(isSigningKey, 'must be base64 behind whsec_')
    .optional()
    .describe('When set, deliveries are signed (Standard Webhooks)'),
  maxWaitingUpdatesPerWebhook: z
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(3_000)
    .describe('Most waiting updates of one webhook; further ones are dropped, counted and logged'),
  deleteDeadLettersAfterHours: hours().default(168).describe('Age at which a dead letter is deleted; 0: never'),
  maxDeadLettersPerWebhook: count()
    .default(3_000)
    .describe('Newest dead letters that are kept per webhook; 0: any number'),
  allowedTargets: targetList()
    .optional()
    .describe(
      'Allowed receivers: names (`*.example.com`: all below), addresses, ranges. Private addresses only by address or range. Default: any',
    ),
});
