import { z } from 'zod';
import { safeName } from '../../core/tasks/shell-commands.js';

/** An address within this service or elsewhere; nothing that a browser would run. */
const addressForm = /^(?:https?:\/\/|\/(?!\/))[^\s"'<>\\]*$/i;
const addressRule = 'must begin with http://, https:// or a single /, without blanks and quotes';
const address = () => z.string().regex(addressForm, addressRule);
const rootRule = 'must be empty, a path such as /jobs, or a URL such as https://muster.example.com/jobs';
/** Nothing may follow its path, and it has no user: all who get a link would see it. */
function isRoot(text: string): boolean {
  if (text === '') return true;
  if (!addressForm.test(text) || /[?#]/.test(text)) return false;
  if (text.startsWith('/')) return true;
  return /^https?:\/\/[^/@]+(\/|$)/i.test(text) && URL.canParse(text) && hostForm.test(new URL(text).hostname);
}
const hostForm = /^([\w.-]+|\[[\da-f:.]+\])$/;
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
    .describe('Path of the page, below the root of the service'),
  rootUrlMode: z
    .enum(rootUrlModes)
    .default('UI_REDIRECT')
    .describe(
      'UI_REDIRECT: / redirects to the page; INDEX_CATCHALL: / and all unknown paths outside the API answer the page; DISABLED: neither',
    ),
  baseUrl: z
    .string()
    .refine(isRoot, rootRule)
    .default('')
    .describe('Address or path of the root of the service at a proxy; empty: http.contextPath, which the proxy keeps'),
  apiRoot: address().optional().describe('Address of the API for the page; default: /api below baseUrl'),
  apiDocs: address().optional().describe('Address of the API documents for the page; default: /docs'),
  staticRoot: address().optional().describe('Address of the scripts and styles of the page; default: /static'),
  title: z.string().min(1).default('Muster').describe('Title of the page, such as the name of the cluster'),
  navColor: z
    .string()
    .regex(/^\w*$/, 'must be one word')
    .default('')
    .describe('Colour of the page, to distinguish clusters: red, orange, yellow, green, blue or purple'),
  hideNewDeployButton: flag().describe('Offer no new deploys'),
  hideNewRequestButton: flag().describe('Offer no new requests'),
  runningTaskLogPath: z.string().default('stdout').describe('Log of a running task; $TASK_ID becomes its id'),
  finishedTaskLogPath: z.string().default('stdout').describe('Log of a task that has ended'),
  taskS3LogOmitPrefix: text().describe('Prefix of the names of stored logs that the page hides'),
  showTaskDiskResource: z.boolean().default(true).describe('Show the requested disk of tasks'),
  shortenSlaveUsageHostname: flag().describe('Show only the first part of the names of hosts'),
  timestampFormat: z.string().default('lll Z').describe('Format of times'),
  timestampWithSecondsFormat: z.string().default('lll:ss Z').describe('Format of times with seconds'),
  redirectOnUnauthorizedUrl: z
    .union([z.literal(''), address()])
    .default('')
    .describe(
      'Address of a login page for callers who are not authenticated; {URL} becomes the address of the present page',
    ),
  extraScript: z
    .union([z.literal(''), address()])
    .default('')
    .describe('A further script of this origin that the page loads'),
  generateAuthHeader: flag().describe('Send the token of the cookie as Authorization: Bearer'),
  quickLinks: z
    .record(z.string(), z.record(z.string(), z.array(QuickLink)))
    .default({})
    .describe(
      'Links on the page of a request, by request id and then by request type or ALL; {{path}} becomes a member of the request',
    ),
  navTitleLinks: z
    .array(TitleLink)
    .default([])
    .describe('Links to other clusters: title, linkFormat, tooltip; {CURRENT_PATH} becomes the present path'),
  lessTerminalPath: text().describe('Address of logs in a terminal; $HOST and $TASK are replaced'),
  slaveHttpPort: z
    .number()
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Port of the files of machines, for pages; default: that of cluster.local.files, else 5051'),
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
    .describe('Cookie that identifies the caller, for the authenticator COOKIE; empty: none'),
  authTokenKey: z
    .string()
    .min(1)
    .default('token')
    .describe('Member of the JSON in that cookie that contains the token'),
  shellCommands: z
    .array(ShellCommandSetting)
    .refine((commands) => new Set(commands.map((command) => command.name)).size === commands.length, {
      message: 'each command needs a name of its own',
    })
    .default([])
    .describe(
      'Commands that callers may run in tasks: name, description, options; cluster.local.shellCommands defines the commands on machines',
    ),
});
