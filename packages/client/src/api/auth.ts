import { body, contract, del, get, path, post, query, unit } from 'rest-contract/client';
import { TokenInfo, TokenRequest, TokenResponse, UserHolder } from '../records/auth.js';
import { boolean, list, optional, string, words } from '../schema.js';

/** Who the caller is, tokens, and what a caller may do to a request. */
export const AuthApi = contract('AuthApi', {
  /** Shows who the caller is taken for. */
  whoCalls: get({}, UserHolder, { path: 'user' }),
  /**
   * Makes a token for the caller or, as an administrator, for another user. It takes the place of the one of the same
   * name, or without a name, that they had.
   */
  createToken: post(
    {
      body: body(optional(TokenRequest)),
    },
    TokenResponse,
    { path: 'token' },
  ),
  /** Takes all tokens of the user with this id or name away. No effect if there is none. */
  clearToken: del(
    {
      /** Name of the user. */
      user: path(string),
    },
    unit,
    { path: 'token' },
  ),
  /**
   * Lists the caller's tokens or, for administrators, those of another user or of all: never their text. An addition
   * of Muster.
   */
  listTokens: get(
    {
      /** Id of the user whose tokens are listed, by an administrator; the caller's own unless given. */
      user: query(optional(string)),
      /** Those of all users, for administrators. */
      all: query(optional(boolean)),
    },
    list(TokenInfo),
    { path: 'tokens' },
  ),
  /** Takes one token away: the caller's own or, for administrators, any. An addition of Muster. */
  revokeToken: del(
    {
      /** Id of the token. */
      tokenId: path(string),
    },
    unit,
    { path: 'tokens' },
  ),
  /** 200 if the caller may do this to the request; else 403, and the message says what they lack. */
  checkCaller: get(
    {
      /** Id of the request. */
      requestId: path(string, 'auth-check'),
      /** What they want to do to the request. */
      scope: query(optional(words('READ', 'WRITE', 'DEPLOY', 'ADMIN'))),
    },
    unit,
    { path: '' },
  ),
  /** 200 if this user, looked up in the directory, may do this to the request; else 403. */
  checkUser: get(
    {
      /** Id of the request. */
      requestId: path(string, 'auth-check'),
      /** Id of the user. */
      userId: path(string),
      /** What they want to do to the request. */
      scope: query(optional(words('READ', 'WRITE', 'DEPLOY', 'ADMIN'))),
    },
    unit,
    { path: '' },
  ),
});
