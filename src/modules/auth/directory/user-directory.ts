import type { User } from '../../../core/authorization/index.js';

/** Where users are looked up who are told by name. */
export abstract class UserDirectory {
  abstract find(name: string): Promise<User | undefined>;
  /** undefined: there is no directory that could be well or not. */
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

/** Knows nobody. */
export class DisabledDirectory extends UserDirectory {
  override find(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  override healthy(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
}
