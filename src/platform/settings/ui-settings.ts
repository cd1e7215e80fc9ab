import { z } from 'zod';
import { safeName } from '../../core/shell-commands/index.js';
import { pageSettings } from './page-settings.js';

const name = () => z.string().regex(/^[^\p{Cc}]{1,100}$/u, 'must have 1 to 100 characters, none of them a control one');
const description = () => z.string().default('');

const ShellCommandSetting = z.strictObject({
  name: name().refine((text) => safeName(text) !== '', { message: "must not consist of '/' alone" }),
  description: description(),
  options: z.array(z.strictObject({ name: name(), description: description() })).default([]),
});

/** What browsers are served, how they say who uses them, and what people can choose from. */
export const UiSettings = z.strictObject({
  ...pageSettings,
  authCookieName: z
    .string()
    .default('')
    .describe('Cookie that says who calls, for the authenticator COOKIE; empty: none'),
  authTokenKey: z.string().min(1).default('token').describe('Member of the JSON in that cookie which holds the token'),
  shellCommands: z
    .array(ShellCommandSetting)
    .refine((commands) => new Set(commands.map((command) => command.name)).size === commands.length, {
      message: 'each command needs a name of its own',
    })
    .default([])
    .describe('Commands that may be run in tasks: name, description, options; machines are told what they run'),
});
