import { z } from 'zod';
import { safeName } from '../../core/tasks/shell-commands.js';

/** An address within this service or elsewhere; nothing that a browser would run. */
const address = () =>
  z.string().regex(/^(?:https?:\/\/|\/(?!\/))[^\s"'<>\\]*$/i, 'must begin with http://, https:// or a single /');
const flag = () => z.boolean().default(false);
const text = () => z.string().default('');

const TitleLink = z.strictObject({
  title: z.string().min(1),
  linkFormat: address(),
  tooltip: z.string().optional(),
});

const QuickLink = z.strictObject({ title: z.string().min(1), linkFormat: z.string().min(1) });

/** Paths that are not the page's, however much else it answers. */
export const pathsOfTheService = ['api', 'docs', 'guide', 'static', 'metrics', 'healthz', 'readyz'] as const;
/** Paths that answer without the context path, too: what watches this instance does not know it, and people begin at /. */
const alsoAtRoot = /^\/(?:healthz|readyz|metrics)?\/?$/;
export const isAtRoot = (path: string): boolean => path !== '' && alsoAtRoot.test(path);

const ofTheService = new RegExp(`^(${pathsOfTheService.join('|')})(/|$)`);

const rootUrlModes = ['UI_REDIRECT', 'INDEX_CATCHALL', 'DISABLED'] as const;

/** Data of this installation for the page that people open. */
export const pageSettings = {
  path: z
    .string()
    .regex(/^[\w-]+(\/[\w-]+)*$/, 'must be words of letters, digits, _ and -, with a / between them')
    .refine((path) => !ofTheService.test(path), 'is a path of the service itself')
    .default('ui')
    .describe('Where the page is, below the root of the service'),
  rootUrlMode: z
    .enum(rootUrlModes)
    .default('UI_REDIRECT')
    .describe(
      'UI_REDIRECT: / leads to the page; INDEX_CATCHALL: / and all unknown paths outside of the API answer it; DISABLED: neither',
    ),
  baseUrl: z
    .union([z.literal(''), address()])
    .default('')
    .describe(
      'Address or path that a proxy has for the root of the service; empty: http.contextPath, which a proxy keeps',
    ),
  apiRoot: address().optional().describe('Where the page finds the API; default: /api below baseUrl'),
  apiDocs: address().optional().describe('Where the page finds the description of the API; default: /docs'),
  staticRoot: address().optional().describe('Where the page finds its scripts and styles; default: /static'),
  title: z.string().min(1).default('Muster').describe('Title of the page, such as the name of the cluster'),
  navColor: z
    .string()
    .regex(/^\w*$/, 'must be one word')
    .default('')
    .describe('Colour by which people tell clusters apart: red, orange, yellow, green, blue or purple'),
  hideNewDeployButton: flag().describe('Offer no new deploys'),
  hideNewRequestButton: flag().describe('Offer no new requests'),
  runningTaskLogPath: z.string().default('stdout').describe('Log of a running task; $TASK_ID becomes its id'),
  finishedTaskLogPath: z.string().default('stdout').describe('Log of a task that has ended'),
  taskS3LogOmitPrefix: text().describe('Begin of the names of stored logs that is not shown'),
  showTaskDiskResource: z.boolean().default(true).describe('Show the disk that tasks ask for'),
  shortenSlaveUsageHostname: flag().describe('Show only the first part of the names of hosts'),
  timestampFormat: z.string().default('lll Z').describe('How times are written'),
  timestampWithSecondsFormat: z.string().default('lll:ss Z').describe('How times with seconds are written'),
  redirectOnUnauthorizedUrl: z
    .union([z.literal(''), address()])
    .default('')
    .describe('Where people go to log in; {URL} becomes the address they came from'),
  extraScript: z
    .union([z.literal(''), address()])
    .default('')
    .describe('A further script of this origin that the page loads'),
  generateAuthHeader: flag().describe('Send the token of the cookie as Authorization: Bearer'),
  quickLinks: z
    .record(z.string(), z.record(z.string(), z.array(QuickLink)))
    .default({})
    .describe(
      'Links on the page of a request, by request and then by its type or ALL; {{path}} becomes a member of it',
    ),
  navTitleLinks: z
    .array(TitleLink)
    .default([])
    .describe('Links to other clusters: title, linkFormat, tooltip; {CURRENT_PATH} becomes the present path'),
  lessTerminalPath: text().describe('Where logs can be read in a terminal; $HOST and $TASK are filled in'),
  slaveHttpPort: z
    .number()
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Port at which pages reach files of machines; default: that of cluster.local.files, else 5051'),
  slaveHttpsPort: z.number().int().min(1).max(65_535).optional().describe('The same with TLS; default: none'),
};

const name = () => z.string().regex(/^[^\p{Cc}]{1,100}$/u, 'must have 1 to 100 characters, none of them a control one');
const description = () => z.string().default('');

const ShellCommandSetting = z.strictObject({
  name: name().refine((text) => safeName(text) !== '', { message: "must not consist of '/' alone" }),
  description: description(),
  options: z.array(z.strictObject({ name: name(), description: description() })).default([]),
});

/** Pages for browsers, the credentials that they send, and the choices of people. */
export const UiSettings = z.strictObject({
  ...pageSettings,
  authCookieName: z
    .string()
    .regex(
      /^[\w!#$%&'*+.^`|~-]{0,100}$/,
      "must be the name of a cookie: at most 100 letters, digits and !#$%&'*+-.^_`|~",
    )
    .default('muster')
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
