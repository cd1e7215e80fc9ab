import { isAddressOrRange, isLoopbackHost } from '../addresses.js';
import { z } from 'zod';
import { authModes } from '../../core/authorization/access-rules.js';
import { count, millis, timeout } from './bounds.js';

const names = () => z.array(z.string().min(1)).default([]);

export const authenticatorNames = [
  'QUERYPARAM_PASSTHROUGH',
  'HEADER_PASSTHROUGH',
  'WEBHOOK',
  'TOKEN',
  'COOKIE',
  'OIDC',
  'DISABLED',
] as const;
export type AuthenticatorName = (typeof authenticatorNames)[number];

/** They believe every caller, so only a proxy that has checked the user may reach the service. */
const passthrough: readonly AuthenticatorName[] = ['QUERYPARAM_PASSTHROUGH', 'HEADER_PASSTHROUGH'];

const openableAreas = [
  'AUTH_CHECK',
  'FILES',
  'INACTIVE_HOSTS',
  'METRICS',
  'NOTIFICATIONS',
  'REQUEST_GROUPS',
  'STATE',
  'UTILIZATION',
] as const;
/** Operations that can be left open to every caller while authentication is on. */
export type OpenableArea = (typeof openableAreas)[number];

/** Where the provider sends people back, below the root of the service. */
export const callbackPath = '/api/auth/oidc/callback';

/** Tokens of an OpenID Connect provider; its keys are found through `<issuer>/.well-known/openid-configuration`. */
const OidcSettings = z.strictObject({
  issuer: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Required issuer of tokens'),
  audience: z.string().min(1).optional().describe('Required audience of tokens'),
  clientId: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('Client id of this service at the provider, for sign-in on the page'),
  clientSecret: z
    .string()
    .min(1)
    .max(2_000)
    .optional()
    .describe('Client secret of this service at the provider; default: none, for a public client'),
  redirectUri: z
    .url({ protocol: /^https?$/ })
    .refine((url) => new URL(url).pathname.endsWith(callbackPath) && !/[?#]/.test(url), `must end with ${callbackPath}`)
    .optional()
    .describe(
      'Address of the callback; default: api/auth/oidc/callback below ui.baseUrl or MUSTER_ADVERTISED_URL, else below the called address',
    ),
  signInScopes: z
    .array(
      z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'must be a word without blanks, quotes and backslashes'),
    )
    .max(50)
    .refine((scopes) => scopes.includes('openid'), 'must have openid among them')
    .default(['openid', 'profile', 'email'])
    .describe('Scopes that a sign-in requests from the provider'),
  signInLabel: z.string().min(1).max(100).default('Sign in with your account').describe('Text of the sign-in button'),
  userClaim: z.string().min(1).default('sub').describe('Claim with the id of the user; dots lead into objects'),
  nameClaim: z.string().min(1).default('name').describe('Claim with the display name of the user'),
  emailClaim: z.string().min(1).default('email').describe('Claim with the e-mail address of the user'),
  groupsClaim: z.string().min(1).default('groups').describe('Claim with the list of groups of the user'),
  scopesClaim: z
    .string()
    .min(1)
    .default('scope')
    .describe('Claim with the scopes of the user: a list, or a text with blanks'),
  timeoutMillis: timeout().default(5_000).describe('Time for the provider to answer'),
  keysMaxAgeMillis: z
    .number()
    .int()
    .min(1_000)
    .max(600_000)
    .default(60_000)
    .describe('Age at which the keys of the provider are read again; a withdrawn key stays valid until then'),
});

const ScopeSettings = z.strictObject({
  admin: z.array(z.string()).default(['SCHEDULER_ADMIN']).describe('Scopes of administrators'),
  write: z.array(z.string()).default(['SCHEDULER_WRITE']).describe('Scopes that permit changes of requests'),
  read: z.array(z.string()).default(['SCHEDULER_READONLY']).describe('Scopes that permit reads'),
  deploy: z.array(z.string()).default([]).describe('Scopes that permit deploys; empty: those of write'),
  approve: z
    .array(z.string())
    .default([])
    .describe('Scopes that permit answers to gates of deploys; empty: those of deploy'),
});

/** Authentication of callers, and their access. */
export const AuthSettings = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Authenticate callers and check their permissions'),
    authenticators: z
      .array(z.enum(authenticatorNames))
      .optional()
      .describe(
        'Authentication methods, tried in this order; default: TOKEN and COOKIE if enabled, else QUERYPARAM_PASSTHROUGH',
      ),
    authenticator: z
      .enum(authenticatorNames)
      .optional()
      .describe('A further method, tried last; for older settings files'),
    trustedProxies: z
      .array(z.string().refine(isAddressOrRange, 'must be an address or a network such as 10.0.0.0/8'))
      .optional()
      .describe(
        'Addresses and networks of proxies that may name the user (PASSTHROUGH methods); default: any while auth.enabled is false',
      ),
    datastore: z
      .enum(['DUMMY', 'DISABLED', 'LDAP'])
      .default('DUMMY')
      .describe(
        'Source of users that a call names: DUMMY accepts every name, DISABLED has none, LDAP asks a directory',
      ),
    requestUserHeaderName: z.string().min(1).default('X-Username').describe('Header of HEADER_PASSTHROUGH'),
    authMode: z.enum(authModes).default('GROUPS').describe('Basis of permissions: groups, or groups with scopes'),
    adminGroups: names().describe('Groups of administrators; empty: in mode GROUPS every authenticated user is one'),
    requiredGroups: names().describe('Mode GROUPS: users except administrators need one of these groups; empty: none'),
    jitaGroups: names().describe('Groups with just-in-time access to any request, without rights of administrators'),
    defaultReadOnlyGroups: names().describe('Groups that read requests without readOnlyGroups'),
    globalReadOnlyGroups: names().describe('Groups that read every request'),
    globalReadWriteGroups: names().describe('Mode GROUPS_SCOPES: groups that read and write every request'),
    scopes: ScopeSettings.prefault({}),
    openAreas: z
      .array(z.enum(openableAreas))
      .default([])
      .describe('Areas that stay open to every caller with authentication'),
    defaultEmailDomain: z
      .string()
      .min(1)
      .optional()
      .describe('E-mail domain of users from WEBHOOK answers in RAW form'),
    authResponseParser: z.enum(['WRAPPED', 'RAW']).default('WRAPPED').describe('Form of the answer of WEBHOOK'),
    webhookAuthRequestTimeoutMs: timeout().default(2_000).describe('Time for the service of WEBHOOK to answer'),
    webhookAuthConnectTimeoutMs: timeout().default(2_000).describe('Time to connect to it'),
    webhookAuthRetries: count().default(2).describe('Further attempts after a failure'),
    oidc: OidcSettings.prefault({}),
    bootstrapToken: z
      .string()
      .min(16)
      .optional()
      .describe('A token of an administrator that is not stored; remove it after the first use'),
    tokenLookupKey: z
      .string()
      .min(16)
      .optional()
      .describe('Key of the digest of tokens; default: a key in the database'),
    tokenHashIterations: count(1_000)
      .default(20_000)
      .describe('Without effect; for older settings files, whose tokens could be chosen'),
    sessionHours: count(1, 720).default(12).describe('Hours after which a session of a browser ends'),
    tokenDays: count(1, 3_650).default(90).describe('Longest validity of a new token, in days'),
    tokensPerUser: count(1, 1_000).default(20).describe('Most tokens of one user, with different names'),
    tokenCreationsPerMinute: count(1).default(10).describe('Most tokens that one caller may create in a minute'),
    failuresBeforeDelay: count(1)
      .default(10)
      .describe('Calls with wrong credentials from one address after which further ones are delayed'),
    secretEnvNames: z
      .array(z.string().min(1))
      .default([
        'password',
        'passwd',
        'secret',
        'token',
        'credential',
        'private_key',
        'api_key',
        'apikey',
        'access_key',
      ])
      .describe('Words in names of variables and of options that mark their values as secret'),
    hiddenEnvironment: z
      .enum(['ALL', 'NAMED'])
      .default('ALL')
      .describe(
        'Variables whose values only callers with WRITE on the request see: ALL, or those NAMED by secretEnvNames',
      ),
  })
  .check(({ value, issues }) => {
    const problem = (path: string, message: string) =>
      issues.push({ code: 'custom', path: [path], message, input: value });
    const used = authenticatorsOf(value);
    const blind = used.filter((name) => passthrough.includes(name));
    if (value.enabled && blind.length > 0 && !value.trustedProxies?.length) {
      problem('trustedProxies', `must name who may use ${blind.join(' and ')}: any caller could claim any name`);
    }
    if (used.includes('OIDC') && (!value.oidc.issuer || !value.oidc.audience)) {
      problem('oidc', 'needs issuer and audience for the authenticator OIDC');
    }
    const { issuer, clientId, clientSecret, redirectUri } = value.oidc;
    if (clientId === undefined && (clientSecret ?? redirectUri) !== undefined)
      problem('oidc', `needs clientId where it has ${clientSecret === undefined ? 'redirectUri' : 'clientSecret'}`);
    if (clientId === undefined) return;
    if (issuer === undefined) problem('oidc', 'needs issuer where it has clientId');
    if (!value.enabled) problem('enabled', 'must be true where oidc.clientId has people sign in');
    else if (!used.includes('COOKIE'))
      problem('authenticators', 'must have COOKIE among them where oidc.clientId has people sign in');
  });
export type AuthSettings = z.infer<typeof AuthSettings>;

/** Each once, in the order in which they are tried. */
export function authenticatorsOf(
  auth: Pick<AuthSettings, 'enabled' | 'authenticators' | 'authenticator'>,
): AuthenticatorName[] {
  const last = auth.authenticator === undefined ? [] : [auth.authenticator];
  if (auth.authenticators !== undefined || last.length > 0)
    return [...new Set([...(auth.authenticators ?? []), ...last])];
  return auth.enabled ? ['TOKEN', 'COOKIE'] : ['QUERYPARAM_PASSTHROUGH'];
}

/** The service that WEBHOOK asks. */
export const WebhookAuthSettings = z.strictObject({
  authVerificationUrl: z
    .union([z.literal(''), z.url({ protocol: /^https?$/ })])
    .default('')
    .describe('Address of the verification service; it receives the Authorization header of the caller'),
  cacheValidationMs: millis().default(60_000).describe('Age at which an answer is refreshed'),
  cacheExpireMs: millis()
    .max(86_400_000)
    .default(600_000)
    .describe('Age at which an answer expires, also while the service cannot be reached'),
});

/** The directory of users. */
export const LdapSettings = z.strictObject({
  hostname: z.string().min(1).optional().describe('Host of the directory; required with auth.datastore LDAP'),
  port: z.number().int().min(1).max(65_535).default(389).describe('Its port'),
  tls: z.boolean().default(false).describe('Use TLS from the start (ldaps)'),
  startTls: z.boolean().default(false).describe('Upgrade a plain connection to TLS (StartTLS)'),
  allowPlain: z
    .boolean()
    .default(false)
    .describe('Allow passwords and groups on a network without TLS; always allowed on a loopback address'),
  caFile: z
    .string()
    .min(1)
    .optional()
    .describe('File with the certificate authorities of the directory, in PEM; default: those of Node.js'),
  bindDn: z.string().optional().describe('Distinguished name of this service; default: none, an anonymous bind'),
  bindPassword: z.string().optional().describe('Its password'),
  userBaseDN: z.string().default('').describe('Parent entry of users'),
  userFilter: z.string().default('(uid=%s)').describe('Filter of users; %s: the given name'),
  userNameAttribute: z.string().default('cn').describe('Attribute with their name'),
  userEmailAttribute: z.string().default('mail').describe('Attribute with their e-mail address'),
  groupBaseDN: z.string().default('').describe('Entry that contains the groups'),
  groupFilter: z.string().default('(memberUid=%s)').describe('Filter of the groups of a user'),
  groupNameAttribute: z.string().default('cn').describe('Attribute with the name of a group'),
  groupSearchScope: z
    .enum(['OBJECT', 'ONELEVEL', 'SUBTREE'])
    .default('SUBTREE')
    .describe('Depth of the search for groups'),
  stripUserEmailDomain: z.boolean().default(true).describe('Look up a name without its @ and domain'),
  connectTimeoutMillis: timeout().default(5_000).describe('Time to connect'),
  timeoutMillis: timeout().default(5_000).describe('Time for each answer'),
});

interface AuthSections {
  auth: AuthSettings;
  ldap: z.infer<typeof LdapSettings>;
  webhookAuth: z.infer<typeof WebhookAuthSettings>;
  ui: { authCookieName: string };
}

/** Checks settings of other sections than `auth` that an authenticator or a directory needs. */
export function checkAuthSections({ value, issues }: z.core.ParsePayload<AuthSections>): void {
  const used = authenticatorsOf(value.auth);
  const need = (given: boolean, path: string[], forWhat: string) => {
    if (!given) issues.push({ code: 'custom', path, message: `is needed for ${forWhat}`, input: value });
  };
  need(
    value.auth.datastore !== 'LDAP' || value.ldap.hostname !== undefined,
    ['ldap', 'hostname'],
    'auth.datastore LDAP',
  );
  const { tls, startTls, allowPlain, hostname } = value.ldap;
  need(
    value.auth.datastore !== 'LDAP' || tls || startTls || allowPlain || isLoopbackHost(hostname ?? 'localhost'),
    ['ldap', 'tls'],
    'a directory on another host; or ldap.startTls, or ldap.allowPlain if the network is trusted',
  );
  if (tls && startTls) {
    const message = 'has no place beside ldap.tls, which speaks TLS from the start';
    issues.push({ code: 'custom', path: ['ldap', 'startTls'], message, input: value });
  }
  need(
    !used.includes('WEBHOOK') || value.webhookAuth.authVerificationUrl !== '',
    ['webhookAuth', 'authVerificationUrl'],
    'the authenticator WEBHOOK',
  );
  const isNamed = [...(value.auth.authenticators ?? []), value.auth.authenticator].includes('COOKIE');
  need(
    value.auth.oidc.clientId === undefined || value.ui.authCookieName !== '',
    ['ui', 'authCookieName'],
    'auth.oidc.clientId, with which people sign in',
  );
  need(!isNamed || value.ui.authCookieName !== '', ['ui', 'authCookieName'], 'the authenticator COOKIE');
}
