import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Clock } from '../../../platform/clock.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import type { User } from '../../../core/authorization/index.js';
import { RecentAnswers } from '../recent-answers.js';
import { LdapDirectory } from './ldap-directory.js';
import { DisabledDirectory, DummyDirectory, UserDirectory } from './user-directory.js';

/** The directory that the settings name. */
@Injectable()
export class ConfiguredDirectory extends UserDirectory implements OnApplicationShutdown {
  private readonly ldap: LdapDirectory | undefined;
  private readonly directory: UserDirectory;

  constructor(@Inject(SETTINGS) settings: Settings, clock: Clock) {
    super();
    const { datastore } = settings.auth;
    this.ldap = datastore === 'LDAP' ? new LdapDirectory(settings.ldap) : undefined;
    this.directory = this.ldap
      ? cached(this.ldap, settings, clock)
      : datastore === 'DUMMY'
        ? new DummyDirectory()
        : new DisabledDirectory();
  }

  override find(name: string): Promise<User | undefined> {
    return this.directory.find(name);
  }

  override healthy(): Promise<boolean | undefined> {
    return this.directory.healthy();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.ldap?.close();
  }
}

function cached(directory: UserDirectory, settings: Settings, clock: Clock): UserDirectory {
  if (!settings.ldapCacheEnabled) return directory;
  const { ldapCacheSize: size, ldapCacheExpireMillis: expireMillis } = settings;
  return new CachedDirectory(directory, { size, expireMillis, now: () => clock.now() });
}

interface CacheOptions {
  size: number;
  expireMillis: number;
  now: () => number;
}

/** Keeps the answers of a directory for a while, also those without a user. Calls for one name at the same time share one answer. */
class CachedDirectory extends UserDirectory {
  private readonly kept: RecentAnswers<User | undefined>;
  private readonly asking = new Map<string, Promise<User | undefined>>();

  constructor(
    private readonly directory: UserDirectory,
    private readonly options: CacheOptions,
  ) {
    super();
    this.kept = new RecentAnswers(options.size);
  }

  override async find(name: string): Promise<User | undefined> {
    const known = this.kept.get(name);
    if (known && this.options.now() - known.at < this.options.expireMillis) return known.answer;
    const asked = this.asking.get(name) ?? this.ask(name).finally(() => this.asking.delete(name));
    this.asking.set(name, asked);
    return asked;
  }

  override healthy(): Promise<boolean | undefined> {
    return this.directory.healthy();
  }

  private async ask(name: string): Promise<User | undefined> {
    const answer = await this.directory.find(name);
    this.kept.put(name, answer, this.options.now());
    return answer;
  }
}
