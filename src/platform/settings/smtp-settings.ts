import { isLoopbackHost } from '../addresses.js';
import { z } from 'zod';
import { isDatePattern, isMailAddress } from '../../core/mail/index.js';
import { resolveTimeZone } from '../../core/schedules/index.js';
import { emailDestinations, emailTypes } from '../../core/model/enums.js';
import { count, hoursAbove0, millis, timeout } from './bounds.js';

const address = () => z.string().refine(isMailAddress, 'must be a plain e-mail address, such as muster@example.com');
const header = (most: number) =>
  z.string().regex(new RegExp(`^[^\\p{Cc}]{1,${most}}$`, 'u'), `must have 1 to ${most} characters, all on one line`);

/** The server that takes mails, and what is told in them. Absent: no mail is sent. */
export const SmtpSettings = z
  .strictObject({
    host: header(255).default('localhost').describe('The mail server'),
    port: z.number().int().min(1).max(65_535).default(25).describe('Its port'),
    username: header(500).optional().describe('User of this service at the mail server; needs password'),
    password: z.string().min(1).max(10_000).optional().describe('The password of that user'),
    from: address().default('muster-no-reply@localhost').describe('Sender of mails'),
    ssl: z.boolean().default(false).describe('Use TLS from the start'),
    startTLS: z
      .boolean()
      .default(false)
      .describe('Upgrade the connection to TLS first; no mail is sent to a server without this feature'),
    allowPlain: z
      .boolean()
      .default(false)
      .describe('Allow the password on a network without TLS; always allowed on a loopback address'),
    admins: z.array(address()).max(1_000).default([]).describe('Addresses of the operators'),
    emails: z
      .partialRecord(z.enum(emailTypes), z.array(z.enum(emailDestinations)))
      .default({})
      .describe('Recipients by type of mail, in place of those in docs/mail.md; an empty list: no mail'),
    subjectPrefix: header(100).optional().describe('Prefix of every subject, such as the name of the cluster'),
    optInEmailMode: z.boolean().default(false).describe('Send mails to subscribed addresses only'),
    uiBaseUrl: z
      .url({ protocol: /^https?$/, error: 'must be a URL such as https://muster.example.com/ui' })
      .max(2_000)
      .transform((url) => url.replace(/\/+$/, ''))
      .optional()
      .describe(
        'Address of the page in links; default: below ui.baseUrl if that is a whole URL; else mails have no links',
      ),
    mailerDatePattern: header(100)
      .refine(isDatePattern, "may have the letters y M d E H h m s S a z, signs, and text in '...'")
      .default('MMM dd h:mm:ss a zzz')
      .describe('Format of times'),
    mailerTimeZone: z
      .string()
      .max(100)
      .refine((name) => resolveTimeZone(name) !== undefined, 'must be the name of a time zone, such as Europe/Berlin')
      .default('UTC')
      .describe('Time zone of these times'),
    taskEmailTailFiles: z
      .array(header(1_000))
      .max(20)
      .default(['stdout', 'stderr'])
      .describe('Files of a task whose last part is shown; $TASK_ID becomes its id'),
    taskLogLength: count(1, 65_536).default(512).describe('Bytes of each file that are shown'),
    taskLogErrorRegex: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('Show a file from the first match on; requests can override it'),
    taskLogErrorRegexCaseSensitive: z.boolean().default(true).describe('Match upper and lower case exactly'),
    maxTaskLogSearchOffset: count(0, 1_000_000)
      .default(100_000)
      .describe('Bytes at the beginning of a file that are searched'),
    rateLimitAfterNotifications: count(0, 1_000)
      .default(5)
      .describe('Mails of one type about one request within the period; 0: any number'),
    rateLimitPeriodMillis: millis(1).default(600_000).describe('Length of that period'),
    rateLimitCooldownMillis: millis()
      .default(3_600_000)
      .describe('Time without such mails after the limit was exceeded'),
    mailMaxThreads: count(1, 100).default(3).describe('Mails that are sent at a time'),
    connectTimeoutMillis: timeout(1).default(5_000).describe('Time for the server to accept a connection and to greet'),
    sendTimeoutMillis: timeout(1).default(60_000).describe('Time limit for one mail'),
    firstRetryMillis: millis(1).default(5_000).describe('Wait after the first failure; doubled each time'),
    lastRetryMillis: millis(1).default(600_000).describe('Longest wait'),
    giveUpAfterHours: hoursAbove0().default(72).describe('Age at which a mail that cannot be sent is given up'),
    maxWaitingMails: count(1, 1_000_000)
      .default(10_000)
      .describe('Most waiting mails; beyond, the oldest are given up'),
    deleteGivenUpAfterHours: hoursAbove0().default(168).describe('Age at which a mail that was given up is deleted'),
  })
  .refine(({ username, password }) => (username === undefined) === (password === undefined), {
    message: 'username and password go together',
    path: ['password'],
  })
  .refine(({ ssl, startTLS }) => !(ssl && startTLS), {
    message: 'has no place beside smtp.ssl, which speaks TLS from the start',
    path: ['startTLS'],
  })
  .refine(
    ({ password, ssl, startTLS, allowPlain, host }) =>
      password === undefined || ssl || startTLS || allowPlain || isLoopbackHost(host),
    {
      message: 'is needed for a password; or smtp.ssl, or smtp.allowPlain if the network is trusted',
      path: ['startTLS'],
    },
  );
export type SmtpSettings = z.infer<typeof SmtpSettings>;

/** Delay of the mail about the end of a task that notes on it may explain. */
export const TaskMetadataSettings = z.strictObject({
  sendTaskCompletedMailOnceMetadataTypeIsAvailable: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('Type of a note that ends the wait of the mail about the end of its task'),
  waitToSendTaskCompletedMailBufferMillis: millis()
    .default(0)
    .describe('Time for which the mail about the end of a task waits'),
});
