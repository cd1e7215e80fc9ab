/** What the tests use of it; the package has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export interface Configuration {
    clients: { client_id: string; client_secret: string; redirect_uris: string[] }[];
    claims: Record<string, string[]>;
    scopes: string[];
    pkce: { required: () => boolean };
    cookies: { keys: string[] };
    features: { devInteractions: { enabled: boolean } };
    findAccount: (context: unknown, id: string) => { accountId: string; claims: () => object };
  }

  export class Provider {
    constructor(issuer: string, configuration: Configuration);
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  }
}
