import type { EmailType } from '../model/enums.js';
import { counted, duration, type Block, type MailDocument, type MailStyle, oneLine, requestLink } from './document.js';
import type { MailFacts } from './mail-types.js';
import type { RateLimitRules } from './rate-limit.js';

type RequestFacts = Extract<MailFacts, { kind: 'paused' | 'unpaused' | 'scaled' | 'removed' | 'cooldown' }>;

export interface RequestMailInput {
  facts: RequestFacts;
  colour: string;
  requestId: string;
  user?: string;
  at: number;
}

const paragraph = (text: string): Block => ({ kind: 'paragraph', pieces: [text] });

export function requestDocument(input: RequestMailInput, style: MailStyle): MailDocument {
  const { facts, colour, requestId } = input;
  const id = oneLine(requestId);
  const action = facts.kind === 'cooldown' ? 'is in cooldown' : facts.kind;
  return {
    subject: oneLine(`Request ${id} ${facts.kind === 'cooldown' ? action : `was ${action}`} – ${style.product}`),
    title: facts.kind === 'cooldown' ? `${id} ${action}` : `${id}: ${action}`,
    colour,
    blocks: [
      {
        kind: 'paragraph',
        pieces: [
          'Request ',
          { text: id, href: requestLink(style, requestId), strong: true },
          facts.kind === 'cooldown' ? ` ${action}.` : ` was ${action}.`,
        ],
      },
      ...consequences(facts, style).map(paragraph),
      { kind: 'facts', rows: rowsOf(input, style) },
    ],
  };
}

function consequences(facts: RequestFacts, { time }: MailStyle): string[] {
  switch (facts.kind) {
    case 'paused':
      return [
        facts.until === undefined
          ? 'It stays paused until it is unpaused by hand.'
          : `It is unpaused by itself at ${time(facts.until)}.`,
        facts.killTasks
          ? 'Its tasks are killed, and no new ones start meanwhile.'
          : 'Its tasks run on; no new ones start meanwhile.',
      ];
    case 'unpaused':
      return ['Its tasks are scheduled again.'];
    case 'scaled':
      return [
        `It had ${counted(facts.from, 'instance')} and has ${facts.to} now.`,
        ...(facts.until === undefined
          ? []
          : [`It goes back to ${counted(facts.from, 'instance')} at ${time(facts.until)}.`]),
        ...(facts.lapsed ? ['The time of the former number was over.'] : []),
      ];
    case 'removed':
      return [
        'Its tasks are killed, and nothing of it is started any more. It comes back only when it is created again through the API.',
      ];
    case 'cooldown':
      return [
        `${counted(facts.failures, 'failure')} of its tasks within ${duration(facts.windowMillis)}.`,
        `Each new task starts at least ${duration(facts.delayMillis)} after it was asked for, until the failures have become fewer, a task finishes, a new deploy is made, or the cooldown is ended by hand.`,
        'No mails about its failing tasks are sent meanwhile.',
      ];
  }
}

function rowsOf(
  { facts, requestId, user, at }: RequestMailInput,
  style: MailStyle,
): Extract<Block, { kind: 'facts' }>['rows'] {
  const message = facts.kind === 'cooldown' ? undefined : facts.message;
  return [
    ['Request', { text: oneLine(requestId), href: requestLink(style, requestId) }],
    ['Time', style.time(at)],
    ...(user ? [['By', oneLine(user)] as const] : []),
    ...(message ? [['Message', oneLine(message, 4_000)] as const] : []),
  ];
}

export interface NoticeInput {
  type: EmailType;
  colour: string;
  requestId: string;
  rules: RateLimitRules;
  /** Time from which mails of this kind are sent again. */
  until: number;
}

/** Takes the place of the mail that was one too many. */
export function noticeDocument({ type, colour, requestId, rules, until }: NoticeInput, style: MailStyle): MailDocument {
  const id = oneLine(requestId);
  return {
    subject: oneLine(`${type} mails for ${id} are limited – ${style.product}`),
    title: oneLine(`${id}: mails are limited`),
    colour,
    blocks: [
      {
        kind: 'paragraph',
        pieces: [
          `Mails of type ${type} for request `,
          { text: id, href: requestLink(style, requestId), strong: true },
          ' became too many. Further ones are not sent for a while.',
        ],
      },
      {
        kind: 'facts',
        rows: [
          ['Mails allowed', String(rules.rateLimitAfterNotifications)],
          ['Within', duration(rules.rateLimitPeriodMillis)],
          ['None are sent for', duration(rules.rateLimitCooldownMillis)],
          ['Sent again from', style.time(until)],
        ],
      },
    ],
  };
}
