import { z } from 'zod';

/** What browsers are served, and how they say who uses them. */
export const UiSettings = z.strictObject({
  authCookieName: z
    .string()
    .default('')
    .describe('Cookie that says who calls, for the authenticator COOKIE; empty: none'),
  authTokenKey: z.string().min(1).default('token').describe('Member of the JSON in that cookie which holds the token'),
});
