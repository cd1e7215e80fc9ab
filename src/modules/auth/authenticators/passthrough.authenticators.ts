import { Inject, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { User } from '../../../core/authorization/index.js';
import { AddressRanges } from '../../../platform/addresses.js';
import { callerAddress } from '../../../platform/http/addresses-of-call.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { UserDirectory } from '../directory/user-directory.js';
import type { Authenticator } from './authenticator.js';

/** Believes the name that a call brings, if it comes from a proxy that has checked it. */
abstract class Passthrough {
  /** undefined: whoever calls. */
  private readonly trusted: AddressRanges | undefined;

  constructor(
    private readonly directory: UserDirectory,
    protected readonly settings: Settings,
  ) {
    const { enabled, trustedProxies } = settings.auth;
    this.trusted = trustedProxies || enabled ? new AddressRanges(trustedProxies ?? []) : undefined;
  }

  protected lookUp(request: Request, name: unknown, place: string): string | Promise<User | string> {
    if (typeof name !== 'string' || name === '') return `${place} is missing`;
    // The address of the connection; a header could claim any other.
    const address = callerAddress(request);
    if (this.trusted && !this.trusted.has(address)) return `${address} is none of auth.trustedProxies`;
    return this.directory
      .find(name)
      .then((found) =>
        found ? { ...found, issuer: this.settings.auth.datastore } : `the directory knows no user '${name}'`,
      );
  }
}

@Injectable()
export class QueryParameterPassthrough extends Passthrough implements Authenticator {
  readonly name = 'QUERYPARAM_PASSTHROUGH';

  constructor(directory: UserDirectory, @Inject(SETTINGS) settings: Settings) {
    super(directory, settings);
  }

  authenticate(request: Request): string | Promise<User | string> {
    return this.lookUp(request, request.query['user'], "query parameter 'user'");
  }
}

@Injectable()
export class HeaderPassthrough extends Passthrough implements Authenticator {
  readonly name = 'HEADER_PASSTHROUGH';

  constructor(directory: UserDirectory, @Inject(SETTINGS) settings: Settings) {
    super(directory, settings);
  }

  authenticate(request: Request): string | Promise<User | string> {
    const { requestUserHeaderName: name } = this.settings.auth;
    return this.lookUp(request, request.get(name), `header ${name}`);
  }
}
