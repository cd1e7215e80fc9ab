import { readFile } from 'node:fs/promises';
import { fileProblem } from './file-problem.js';
import { type AskCredentials, secretPattern } from './settings/gate-settings.js';

/** Proof for one question. */
export interface Authorization {
  /** Value of the header. */
  header: string;
  /** A text of the service that was asked, without the secret. */
  redact: (text: string) => string;
}

interface Entry {
  origin: string;
  /** Without '/' at its end. */
  path: string;
  given: AskCredentials;
}

/**
 * A path that servers read in different ways: encoded slashes, dots and percent signs, empty segments, parameters of segments. By some of
 * them it leads out of the address that it begins with.
 */
const ambiguousPath = /%(2e|2f|5c|25|00)|[;\\]|\/\//i;

/** A shorter text may be a part of an answer by chance. */
const leastRedacted = 8;

/**
 * Credentials of gates.credentials. An address gets those of the longest entry with its scheme, host and port whose path it is at or below;
 * any other address, whoever names it, gets none.
 */
export class ServiceCredentials {
  private readonly entries: readonly Entry[];

  constructor(credentials: Readonly<Record<string, AskCredentials>> = {}) {
    this.entries = Object.entries(credentials)
      .map(([address, given]) => {
        const { origin, pathname } = new URL(address);
        return { origin, path: pathname.replace(/\/+$/, ''), given };
      })
      .toSorted((a, b) => b.path.length - a.path.length);
  }

  /** `group`: of the request for which is asked. Throws if the secret cannot be read; the message has neither it nor the place of its file. */
  async of({ origin, pathname, username, password }: URL, group?: string): Promise<Authorization | undefined> {
    if (username !== '' || password !== '' || ambiguousPath.test(pathname)) return undefined;
    const entry = this.entries.find((one) => one.origin === origin && isAtOrBelow(pathname, one.path));
    if (!entry) return undefined;
    const { groups, username: user } = entry.given;
    if (groups && (group === undefined || !groups.includes(group))) return undefined;
    const secret = await secretOf(entry);
    const word = user === undefined ? secret : Buffer.from(`${user}:${secret}`).toString('base64');
    const hidden = [word, secret].filter((text) => text.length >= leastRedacted);
    return {
      header: `${user === undefined ? 'Bearer' : 'Basic'} ${word}`,
      redact: (text) => hidden.reduce((told, each) => told.replaceAll(each, '[secret]'), text),
    };
  }
}

const isAtOrBelow = (path: string, parent: string): boolean => path === parent || path.startsWith(`${parent}/`);

async function secretOf({ origin, path, given }: Entry): Promise<string> {
  const { secret, secretFile } = given;
  if (secret !== undefined) return secret;
  const refused = (why: string) => new Error(`the credentials for ${origin}${path} cannot be read: ${why}`);
  const text = await readFile(secretFile!, 'utf8').catch((cause: unknown) => {
    throw refused(fileProblem(cause).split('\n')[0]!);
  });
  if (!secretPattern.test(text.trim())) throw refused('their file is not one line of printable ASCII characters');
  return text.trim();
}
