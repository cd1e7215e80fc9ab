import { type Int64, record } from '../schema.js';

/** Who makes a call. */
export interface User {
  /** Id, under which settings are kept. */
  id: string;
  /** Name to show; the id when no name is known. */
  name?: string;
  /** E-mail address, recorded with what they do. */
  email?: string;
  /** Groups they are in, compared with those of requests. */
  groups?: string[];
  /** Scopes they have, where scopes count. */
  scopes?: string[];
  /** false only for the built-in user, who stands for no particular person. */
  authenticated?: boolean;
}
export const User = record<User>('User');

/** The caller, as the service knows them. */
export interface UserHolder {
  /** Who they are. */
  user: User;
  /** What they have chosen. Absent until they chose something. */
  settings?: UserSettings;
  /** Always true: a caller who gets this answer has been let in. */
  authenticated: boolean;
  /** Whether callers are refused what they may not do. */
  authEnabled: boolean;
}
export const UserHolder = record<UserHolder>('UserHolder');

/** Which token is to be made. */
export interface TokenRequest {
  /** Older clients chose the text of a token here. Now the service makes it, and this is refused. */
  token?: string;
  /**
   * What the token is called: it takes the place of the one of this name, or of the one without a name. An addition
   * of Muster.
   */
  name?: string;
  /**
   * When it ends; by default as late as may be: after auth.tokenDays, and not after what proves who makes it. An
   * addition of Muster.
   */
  expiresAt?: Int64;
  /** Whose token it becomes; the caller's own unless given. */
  user?: User;
}
export const TokenRequest = record<TokenRequest>('TokenRequest');

/** What is known of a token, without its text. */
export interface TokenInfo {
  /** When it was made. */
  createdAt: Int64;
  /** When it ends. */
  expiresAt: Int64;
  /** When it was used last, to the minute. Absent until it was. */
  lastUsedAt?: Int64;
  /** Id; stands in the text of the token, too. */
  id: string;
  /** What it is called; absent: it has no name. */
  name?: string;
  /** Id of the user it stands for. */
  userId: string;
  /** Their name to show. */
  userName: string;
  /** Who vouched for that id: a provider, a directory, or 'muster'. */
  issuer: string;
  /** Id of the caller who made it. */
  madeBy: string;
  /** Whether it was made while callers were not checked, and opens nothing while they are. */
  madeOpenly: boolean;
}
export const TokenInfo = record<TokenInfo>('TokenInfo');

/** A token that was made. */
export interface TokenResponse {
  /** Id, by which it can be revoked. An addition of Muster. */
  id: string;
  /** When it ends. An addition of Muster. */
  expiresAt: Int64;
  /** Its text, shown this one time. */
  token: string;
  /** Whom it stands for. */
  user: User;
}
export const TokenResponse = record<TokenResponse>('TokenResponse');

/** What a user has chosen for themselves. */
export interface UserSettings {
  /** Ids of the requests they care for. These come first in lists. */
  starredRequestIds?: string[];
}
export const UserSettings = record<UserSettings>('UserSettings');
