import { readFileSync } from 'node:fs';
import { Client, type Entry, type SearchOptions } from 'ldapts';
import type { User } from '../../../core/authorization/index.js';
import { SchedulerError, StartError } from '../../../platform/errors.js';
import type { Settings } from '../../../platform/settings/settings.js';
import { UserDirectory } from './user-directory.js';

const scopes = { OBJECT: 'base', ONELEVEL: 'one', SUBTREE: 'sub' } as const;

/** Users and their groups as an LDAP server knows them. One connection carries all lookups, and is replaced when it breaks. */
export class LdapDirectory extends UserDirectory {
  private readonly authorities: Buffer | undefined;
  private client: Client;
  private bound: Promise<void> | undefined;

  constructor(private readonly settings: Settings['ldap']) {
    super();
    this.authorities = settings.caFile === undefined ? undefined : readAuthorities(settings.caFile);
    this.client = this.newClient();
  }

  override async find(given: string): Promise<User | undefined> {
    const { stripUserEmailDomain, userNameAttribute, userEmailAttribute, groupNameAttribute } = this.settings;
    const id = stripUserEmailDomain ? given.replace(/@.*$/s, '') : given;
    if (id === '') return undefined;
    try {
      const [entry] = await this.search(this.settings.userBaseDN, { scope: 'one', filter: this.filter('user', id) });
      if (!entry) return undefined;
      const scope = scopes[this.settings.groupSearchScope];
      const groups = await this.search(this.settings.groupBaseDN, { scope, filter: this.filter('group', id) });
      return {
        id,
        name: first(entry, userNameAttribute),
        email: first(entry, userEmailAttribute),
        groups: [...new Set(groups.flatMap((group) => values(group, groupNameAttribute)))],
        scopes: [],
        authenticated: true,
      };
    } catch (cause) {
      throw new SchedulerError('DIRECTORY_FAILED', `The directory of users cannot be asked about '${id}'`, { cause });
    }
  }

  override async healthy(): Promise<boolean> {
    try {
      // A new connection each time: an old one does not tell whether a login succeeds now.
      const probe = this.newClient();
      await this.bind(probe).finally(() => probe.unbind().catch(() => undefined));
      return true;
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    await this.client.unbind().catch(() => undefined);
  }

  /** Once more on a new connection when the old one turned out to be gone. */
  private async search(base: string, options: SearchOptions): Promise<Entry[]> {
    for (let left = 1; ; left--) {
      const { client } = this;
      try {
        this.bound ??= this.bind(client);
        await this.bound;
        // It would connect again by itself, without logging in, and without TLS where that begins later.
        if (!client.isConnected) throw new Error('The connection to the directory was lost');
        return (await client.search(base, options)).searchEntries;
      } catch (cause) {
        if (isMissingBase(cause)) return [];
        if (client === this.client) this.renew();
        if (left === 0) throw cause;
      }
    }
  }

  private renew(): void {
    void this.client.unbind().catch(() => undefined);
    this.client = this.newClient();
    this.bound = undefined;
  }

  private async bind(client: Client): Promise<void> {
    // Before a password is sent. A directory that does not know it, or has another certificate, is told nothing.
    if (this.settings.startTls) await client.startTLS({ host: this.settings.hostname!, ca: this.authorities });
    await client.bind(this.settings.bindDn ?? '', this.settings.bindPassword ?? '');
  }

  private newClient(): Client {
    const { hostname, port, tls, timeoutMillis, connectTimeoutMillis } = this.settings;
    const url = `${tls ? 'ldaps' : 'ldap'}://${hostname}:${port}`;
    const tlsOptions = tls ? { ca: this.authorities } : undefined;
    return new Client({ url, tlsOptions, timeout: timeoutMillis, connectTimeout: connectTimeoutMillis });
  }

  private filter(kind: 'user' | 'group', id: string): string {
    return this.settings[`${kind}Filter`].replaceAll('%s', () => escapeFilter(id));
  }
}

function readAuthorities(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new StartError(`ldap.caFile cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** Characters with a meaning in a filter are escaped. */
const escapeFilter = (text: string): string =>
  text.replace(/[\\*()\0]/g, (sign) => `\\${sign.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** noSuchObject: the entry to look below is not there, so the user is not there either. */
const isMissingBase = (cause: unknown): boolean => (cause as { code?: unknown }).code === 32;

const values = (entry: Entry, attribute: string): string[] => {
  const name = Object.keys(entry).find((key) => key.toLowerCase() === attribute.toLowerCase());
  return name === undefined ? [] : [entry[name]!].flat().map(String);
};
const first = (entry: Entry, attribute: string): string | undefined => values(entry, attribute)[0];
