import { Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Clock } from '../../../platform/clock.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import type { User } from '../../../core/authorization/index.js';
import { CachedDirectory } from './cached-directory.js';
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

/** The directory of users, for whoever looks one up or tells whether it is well. */
@Module({ providers: [{ provide: UserDirectory, useClass: ConfiguredDirectory }], exports: [UserDirectory] })
export class DirectoryModule {}
