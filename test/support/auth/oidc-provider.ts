import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider, type Configuration } from 'oidc-provider';

export interface Person {
  name?: string;
  email?: string;
  groups?: string[];
}

export const clientId = 'muster';
export const clientSecret = 'the secret of the service at the provider';

/** A whole OpenID Connect provider, with pages on which people log in. It takes every password. */
export class OidcProvider {
  private provider: Provider | undefined;
  private callback: ReturnType<Provider['callback']> | undefined;
  /** By what they log in as; others are known without a name. */
  readonly people = new Map<string, Person>();
  /** Answers nothing but errors. */
  isAway = false;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<OidcProvider> {
    const server = createServer();
    const started = new OidcProvider(server);
    server.on('request', (request, response) => {
      if (started.isAway || !started.callback) return void response.writeHead(503).end();
      void started.callback(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Knows a service that people are sent back to at this address. */
  serve(redirectUri: string): void {
    const configuration: Configuration = {
      clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
      claims: { openid: ['sub'], profile: ['name'], email: ['email'], groups: ['groups'] },
      scopes: ['openid', 'profile', 'email', 'groups'],
      pkce: { required: () => true },
      cookies: { keys: ['a key of the tests'] },
      features: { devInteractions: { enabled: true } },
      findAccount: (_context, id) => ({
        accountId: id,
        claims: () => ({ sub: id, ...this.people.get(id) }),
      }),
    };
    this.provider = new Provider(this.url, configuration);
    this.callback = this.provider.callback();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

interface Stop {
  /** Where the next call would go. */
  address: string;
  /** Set-Cookie of the answer that says so. */
  cookies: string[];
}

/** Goes where answers send it and keeps their cookies, as a browser does, and fills in the forms of the provider. */
export class SmallBrowser {
  private readonly jar = new Map<string, string>();

  cookies(origin: string): string {
    return [...this.jar]
      .filter(([name]) => name.startsWith(`${origin} `))
      .map(([name, value]) => `${name.slice(origin.length + 1)}=${value}`)
      .join('; ');
  }

  set(origin: string, name: string, value: string): void {
    this.jar.set(`${origin} ${name}`, value);
  }

  async get(address: string): Promise<Response> {
    return this.call(address, {});
  }

  /** Follows answers from this address until one leads to what begins with `stop`, as `login`. */
  async goOn(from: string, stop: string, login: string): Promise<Stop> {
    let address = from;
    let init: RequestInit = {};
    for (let left = 20; left > 0; left--) {
      const answer = await this.call(address, init);
      init = {};
      const location = answer.headers.get('location');
      if (location !== null) {
        address = new URL(location, address).href;
        if (address.startsWith(stop)) return { address, cookies: answer.headers.getSetCookie() };
        continue;
      }
      const page = await answer.text();
      const [, action] = /<form[^>]*action="([^"]+)"/.exec(page) ?? [];
      const [, prompt] = /name="prompt" value="(\w+)"/.exec(page) ?? [];
      if (action === undefined) throw new Error(`${address} answered ${answer.status}: ${page.slice(0, 500)}`);
      address = new URL(action, address).href;
      init = { method: 'POST', body: new URLSearchParams({ prompt: prompt ?? '', login, password: 'any' }) };
    }
    throw new Error(`It goes on and on, now to ${address}`);
  }

  private async call(address: string, init: RequestInit): Promise<Response> {
    const { origin } = new URL(address);
    const answer = await fetch(address, { ...init, redirect: 'manual', headers: { Cookie: this.cookies(origin) } });
    for (const set of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set)!;
      if (value === '') this.jar.delete(`${origin} ${name}`);
      else this.jar.set(`${origin} ${name}`, value!);
    }
    return answer;
  }
}
