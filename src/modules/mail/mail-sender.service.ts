import { Inject, Injectable } from '@nestjs/common';
import nodemailer, { type NodemailerError } from 'nodemailer';
import { oneLine, type MailProblem, type Recipients, type RenderedMail } from '../../core/mail/index.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { withSignal } from '../../platform/async.js';

type Smtp = NonNullable<Settings['smtp']>;

export interface OutgoingMail extends RenderedMail, Pick<Recipients, 'to' | 'cc'> {
  /** Equal for every attempt to send the same mail. */
  id: string;
  type: string;
  /** Time of the event that it is about, in epoch milliseconds. */
  at: number;
  /** Addresses that it has to reach still; absent: all. */
  unreached?: string[];
}

export type SendResult =
  | { kind: 'sent'; refused: string[] }
  /** Some have it; these do not yet, and may get it later. */
  | { kind: 'partly'; unreached: string[]; message: string }
  | MailProblem;

/** Talks to the mail server. One connection per mail: it is closed after the time for a mail, whatever the server does. */
@Injectable()
export class MailSender {
  private readonly to: { smtp: Smtp; server: ReturnType<typeof connectionTo> } | undefined;

  constructor(@Inject(SETTINGS) { smtp }: Settings) {
    this.to = smtp && { smtp, server: connectionTo(smtp) };
  }

  async send(mail: OutgoingMail, stopping: AbortSignal): Promise<SendResult> {
    if (!this.to) return { kind: 'server', message: 'smtp is not set' };
    const { smtp, server } = this.to;
    const timeout = AbortSignal.timeout(smtp.sendTimeoutMillis);
    const named = (address: string) => ({ name: '', address });
    try {
      const outgoing = {
        messageId: `<${mail.id}@${smtp.from.split('@')[1]}>`,
        date: new Date(mail.at),
        from: named(smtp.from),
        to: mail.to.map(named),
        cc: mail.cc.map(named),
        envelope: { from: smtp.from, to: mail.unreached ?? [...mail.to, ...mail.cc] },
        subject: mail.subject,
        html: mail.html,
        text: mail.text,
        // So that programs that answer by themselves do not, and that people can sort by it.
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All', 'X-Muster-Mail': mail.type },
      };
      const { rejected, rejectedErrors = [] } = await withSignal([stopping, timeout], (signal) =>
        server.sendMail({ ...outgoing, signal }),
      );
      const later = rejectedErrors.filter(({ responseCode = 500 }) => responseCode < 500);
      const unreached = later.flatMap(({ recipient }) => recipient ?? []);
      if (unreached.length > 0) return { kind: 'partly', unreached, message: textOf(later[0]) };
      return { kind: 'sent', refused: rejected.map((address) => String(address)) };
    } catch (cause) {
      if (timeout.aborted) return { kind: 'server', message: `It took longer than ${smtp.sendTimeoutMillis} ms` };
      return problemOf(cause as NodemailerError);
    }
  }
}

const mostBytesOfAnswer = 65_536;

const connectionTo = ({ host, port, ssl, startTLS, username, password, ...times }: Smtp) =>
  nodemailer.createTransport({
    host,
    port,
    secure: ssl,
    requireTLS: startTLS,
    ignoreTLS: !startTLS,
    auth: username === undefined ? undefined : { user: username, pass: password },
    connectionTimeout: times.connectTimeoutMillis,
    greetingTimeout: times.connectTimeoutMillis,
    dnsTimeout: times.connectTimeoutMillis,
    socketTimeout: times.sendTimeoutMillis,
    socketCloseTimeout: 0,
    maxResponseSize: mostBytesOfAnswer,
    // What is sent is text that we made; nothing of it may name a file or an address to fetch.
    disableFileAccess: true,
    disableUrlAccess: true,
  });

/** A server chooses these words. */
const textOf = (cause: unknown): string => oneLine(cause instanceof Error ? cause.message : String(cause), 500);

function problemOf(cause: NodemailerError): MailProblem {
  const { code, responseCode = 0 } = cause;
  const message = textOf(cause);
  const isAboutMail = code === 'EMESSAGE' || (code === 'EENVELOPE' && cause.rejected !== undefined);
  // 421: it goes away.
  if (!isAboutMail || responseCode === 421) return { kind: 'server', message };
  return { kind: responseCode >= 500 ? 'never' : 'later', message };
}
