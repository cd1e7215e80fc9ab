import type { AddressInfo } from 'node:net';
import { simpleParser, type ParsedMail } from 'mailparser';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { waitFor } from './wait-for.js';

export interface ReceivedMail extends ParsedMail {
  /** Addresses to which the server was told to deliver it. */
  recipients: string[];
  to_: string[];
  cc_: string[];
  /** The whole message as it came. */
  raw: string;
  /** As the header names it. */
  type: string;
  isEncrypted: boolean;
  user: string | undefined;
}

export interface MailServer {
  port: number;
  mails: ReceivedMail[];
  /** Connections since the start. */
  connections: number;
  /** The first that is like this. */
  until(what: string, isIt: (mail: ReceivedMail) => boolean): Promise<ReceivedMail>;
  close(): Promise<void>;
}

const addresses = (field: ParsedMail['to']): string[] =>
  [field ?? []].flat().flatMap(({ value }) => value.flatMap(({ address }) => address ?? []));

/**
 * A real SMTP server that remembers what it was sent. Without TLS and users unless told otherwise. hangs: it takes mails and never
 * answers that it did.
 */
export async function startMailServer(
  options: SMTPServerOptions = {},
  port = 0,
  { hangs = false } = {},
): Promise<MailServer> {
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    closeTimeout: 200,
    ...options,
    onConnect: (session, done) => {
      received.connections += 1;
      if (options.onConnect) options.onConnect(session, done);
      else done();
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const raw = Buffer.concat(chunks);
        void keep(raw, session).finally(() => (hangs ? undefined : done()));
      });
    },
  });
  const keep = async (raw: Buffer, session: SMTPServerSession): Promise<void> => {
    const mail = await simpleParser(raw);
    received.mails.push({
      ...mail,
      recipients: session.envelope.rcptTo.map(({ address }) => address),
      to_: addresses(mail.to),
      cc_: addresses(mail.cc),
      raw: raw.toString(),
      type: String(mail.headers.get('x-muster-mail')),
      isEncrypted: session.secure,
      user: session.user as string | undefined,
    });
  };
  let closed: Promise<void> | undefined;
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const received: MailServer = {
    port: (server.server.address() as AddressInfo).port,
    mails: [],
    connections: 0,
    until: (what, isIt) => waitFor(what, () => received.mails.find(isIt), { timeoutMillis: 40_000 }),
    close: () => (closed ??= new Promise((resolve) => server.close(() => resolve()))),
  };
  return received;
}
