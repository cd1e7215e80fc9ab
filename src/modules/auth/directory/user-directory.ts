import type { User } from '../../../core/authorization/index.js';

/** Looks up users by name. */
export abstract class UserDirectory {
  abstract find(name: string): Promise<User | undefined>;
  /** undefined: there is no directory whose health could be told. */
  abstract healthy(): Promise<boolean | undefined>;
}

/** Believes every name. */
export class DummyDirectory extends UserDirectory {
  override find(name: string): Promise<User> {
    return Promise.resolve({ id: name, name, email: name, groups: [], scopes: [], authenticated: true });
  }

  override healthy(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

/** Knows no users. */
export class DisabledDirectory extends UserDirectory {
  override find(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  override healthy(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
}
