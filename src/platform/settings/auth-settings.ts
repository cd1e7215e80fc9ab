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
    .describe('Issuer that tokens must come from'),
  audience: z.string().min(1).optional().describe('Audience that tokens must be for'),
  clientId: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('Id of this service at the provider, for people who sign in on the page'),
  clientSecret: z
    .string()
    .min(1)
    .max(2_000)
    .optional()
    .describe('Its secret there; default: none, for a public client'),
  redirectUri: z
    .url({ protocol: /^https?$/ })
    .refine((url) => new URL(url).pathname.endsWith(callbackPath) && !/[?#]/.test(url), `must end with ${callbackPath}`)
    .optional()
    .describe(
      'Where the provider sends people back; default: api/auth/oidc/callback below ui.baseUrl or MUSTER_ADVERTISED_URL, else below the address that was called',
    ),
  signInScopes: z
    .array(
      z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'must be a word without blanks, quotes and backslashes'),
    )
    .max(50)
    .refine((scopes) => scopes.includes('openid'), 'must have openid among them')
    .default(['openid', 'profile', 'email'])
    .describe('Scopes that the provider is asked for when someone signs in'),
  signInLabel: z
    .string()
    .min(1)
    .max(100)
    .default('Sign in with your account')
    .describe('What the button says that leads to the provider'),
  userClaim: z.string().min(1).default('sub').describe('Claim with the id of the user; dots lead into objects'),
  nameClaim: z.string().min(1).default('name').describe('Claim with their name to show'),
  emailClaim: z.string().min(1).default('email').describe('Claim with their e-mail address'),
  groupsClaim: z.string().min(1).default('groups').describe('Claim with the list of their groups'),
  scopesClaim: z.string().min(1).default('scope').describe('Claim with their scopes: a list, or a text with blanks'),
  timeoutMillis: timeout().default(5_000).describe('Time for the provider to answer'),
  keysMaxAgeMillis: z
    .number()
    .int()
    .min(1_000)
    .max(600_000)
    .default(60_000)
    .describe('Age at which its keys are asked for again, and so how long a key counts that it has withdrawn'),
});

const ScopeSettings = z.strictObject({
  admin: z.array(z.string()).default(['SCHEDULER_ADMIN']).describe('Scopes of administrators'),
  write: z.array(z.string()).default(['SCHEDULER_WRITE']).describe('Scopes that allow to change requests'),
  read: z.array(z.string()).default(['SCHEDULER_READONLY']).describe('Scopes that allow to read'),
  deploy: z.array(z.string()).default([]).describe('Scopes that allow to deploy; empty: those of write'),
});

/** Authentication of callers, and their access. */
export const AuthSettings = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Whether callers are refused what they may not do'),
    authenticators: z
      .array(z.enum(authenticatorNames))
      .optional()
      .describe(
        'Ways to tell who calls, tried in this order; default: TOKEN and COOKIE when enabled, QUERYPARAM_PASSTHROUGH otherwise',
      ),
    authenticator: z.enum(authenticatorNames).optional().describe('One more, tried last; for older settings files'),
    trustedProxies: z
      .array(z.string().refine(isAddressOrRange, 'must be an address or a network such as 10.0.0.0/8'))
      .optional()
      .describe('Addresses and networks that may say who calls (the PASSTHROUGH ways); default: any while not enabled'),
    datastore: z
      .enum(['DUMMY', 'DISABLED', 'LDAP'])
      .default('DUMMY')
      .describe('Where users are looked up who are told by name: DUMMY believes, DISABLED knows none'),
    requestUserHeaderName: z.string().min(1).default('X-Username').describe('Header of HEADER_PASSTHROUGH'),
    authMode: z.enum(authModes).default('GROUPS').describe('What decides: groups, or groups together with scopes'),
    adminGroups: names().describe('Groups of administrators; empty: in mode GROUPS every known user may do their work'),
    requiredGroups: names().describe('Mode GROUPS: of these, all but administrators need one; empty: none is needed'),
    jitaGroups: names().describe('Groups with just-in-time access: any request, but no work of administrators'),
    defaultReadOnlyGroups: names().describe('Groups that read requests which name no readOnlyGroups'),
    globalReadOnlyGroups: names().describe('Groups that read every request'),
    globalReadWriteGroups: names().describe('Mode GROUPS_SCOPES: groups that read and write every request'),
    scopes: ScopeSettings.prefault({}),
    openAreas: z
      .array(z.enum(openableAreas))
      .default([])
      .describe('Operations that stay open to every caller while enabled'),
    defaultEmailDomain: z.string().min(1).optional().describe('Domain of users whose WEBHOOK answer is RAW'),
    authResponseParser: z.enum(['WRAPPED', 'RAW']).default('WRAPPED').describe('Form of the answer of WEBHOOK'),
    webhookAuthRequestTimeoutMs: timeout().default(2_000).describe('Time for the service of WEBHOOK to answer'),
    webhookAuthConnectTimeoutMs: timeout().default(2_000).describe('Time to connect to it'),
    webhookAuthRetries: count().default(2).describe('How often it is asked again'),
    oidc: OidcSettings.prefault({}),
    bootstrapToken: z
      .string()
      .min(16)
      .optional()
      .describe('A token that makes an administrator of its bearer without being stored; take it away again'),
    tokenLookupKey: z
      .string()
      .min(16)
      .optional()
      .describe('Key of the digest that tokens are found by; default: one kept in the database'),
    tokenHashIterations: count(1_000)
      .default(20_000)
      .describe('Without effect; for older settings files, whose tokens could be chosen'),
    sessionHours: count(1, 720).default(12).describe('Hours for which one who has signed in with a browser stays so'),
    tokenDays: count(1, 3_650).default(90).describe('Days after which a new token ends at the latest'),
    tokensPerUser: count(1, 1_000).default(20).describe('Tokens of different names one user may have'),
    tokenCreationsPerMinute: count(1).default(10).describe('Tokens one caller may make in a minute'),
    failuresBeforeDelay: count(1)
      .default(10)
      .describe('Calls from one address with a wrong proof of who calls after which others with one have to wait'),
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
      .describe('Words in names of variables, and of options before arguments, that mark their values as secret'),
    hiddenEnvironment: z
      .enum(['ALL', 'NAMED'])
      .default('ALL')
      .describe(
        'Variables whose values only who may write the request is shown: ALL, or those NAMED by secretEnvNames',
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
    .describe('Asked with the Authorization header of the caller'),
  cacheValidationMs: millis().default(60_000).describe('Age at which an answer is asked for again'),
  cacheExpireMs: millis()
    .max(86_400_000)
    .default(600_000)
    .describe('Age at which an answer counts no more, also while the service cannot be reached'),
});

/** The directory of users. */
export const LdapSettings = z.strictObject({
  hostname: z.string().min(1).optional().describe('Host of the directory; required with auth.datastore LDAP'),
  port: z.number().int().min(1).max(65_535).default(389).describe('Its port'),
  tls: z.boolean().default(false).describe('Whether to speak TLS from the start (ldaps)'),
  startTls: z.boolean().default(false).describe('Whether to change over to TLS on a connection without (StartTLS)'),
  allowPlain: z
    .boolean()
    .default(false)
    .describe('Whether passwords and groups may pass a network without TLS; not asked for on a loopback address'),
  caFile: z
    .string()
    .min(1)
    .optional()
    .describe('File with the certificates, in PEM, that vouch for the directory; default: those that Node.js knows'),
  bindDn: z.string().optional().describe('Name to log in with; default: none, an anonymous bind'),
  bindPassword: z.string().optional().describe('Its password'),
  userBaseDN: z.string().default('').describe('Entry right below which users are'),
  userFilter: z.string().default('(uid=%s)').describe('Filter of users; %s: the name that was given'),
  userNameAttribute: z.string().default('cn').describe('Attribute with their name'),
  userEmailAttribute: z.string().default('mail').describe('Attribute with their e-mail address'),
  groupBaseDN: z.string().default('').describe('Entry below which groups are'),
  groupFilter: z.string().default('(memberUid=%s)').describe('Filter of the groups of a user'),
  groupNameAttribute: z.string().default('cn').describe('Attribute with the name of a group'),
  groupSearchScope: z.enum(['OBJECT', 'ONELEVEL', 'SUBTREE']).default('SUBTREE').describe('How far below groups are'),
  stripUserEmailDomain: z.boolean().default(true).describe('Whether a name is looked up without @ and what follows'),
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
