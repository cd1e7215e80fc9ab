/** Who makes a call, as an authenticator found it out. */
export interface User {
  /** Settings are kept under it, and messages name it. */
  id: string;
  name?: string;
  email?: string;
  groups: readonly string[];
  /** Only asked for in the modes that know scopes. */
  scopes: readonly string[];
  /** false only for the built-in user, who is nobody in particular. */
  authenticated: boolean;
}

/** Everybody who has not said who they are. */
export const builtInUser: User = { id: 'scheduler', groups: [], scopes: [], authenticated: false };

export const nameOf = ({ name, id }: Pick<User, 'id' | 'name'>): string => name ?? id;

export const overlaps = (some: readonly string[], others: readonly string[]): boolean =>
  some.some((one) => others.includes(one));
