import {
  exportJWK,
  generateKeyPair,
  SignJWT,
  type CryptoKey,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
} from 'jose';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An OpenID Connect provider as far as its tokens go: a document, keys, signatures. */
export class SmallIssuer {
  /** Times its document was asked for. */
  discoveries = 0;
  /** Times its keys were asked for. */
  keyReads = 0;
  /** Answers nothing but errors. */
  broken = false;
  /** Name of the issuer in its document. */
  name = '';
  private readonly keys: JWK[] = [];
  private signing: { id: string; key: CryptoKey } | undefined;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<SmallIssuer> {
    const server = createServer();
    const issuer = new SmallIssuer(server);
    server.on('request', (request, response) => {
      if (issuer.broken) return void response.writeHead(500).end();
      if (request.url === '/.well-known/openid-configuration') {
        issuer.discoveries++;
        return void response.end(JSON.stringify({ issuer: issuer.name, jwks_uri: `${issuer.url}/keys` }));
      }
      issuer.keyReads++;
      response.end(JSON.stringify({ keys: issuer.keys }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    issuer.name = issuer.url;
    await issuer.addKey('first');
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Signs with a new key from now on. */
  async addKey(id: string): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    this.keys.push({ ...(await exportJWK(publicKey)), kid: id, alg: 'ES256' });
    this.signing = { id, key: privateKey };
  }

  /** Publishes this key no more; what it signed stays signed. */
  withdrawKey(id: string): void {
    this.keys.splice(
      this.keys.findIndex(({ kid }) => kid === id),
      1,
    );
  }

  sign(
    claims: JWTPayload,
    changes: {
      issuer?: string;
      audience?: string;
      expires?: string;
      keyId?: string;
      type?: string;
      issuedAt?: number;
    } = {},
  ): Promise<string> {
    const signed = new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: changes.keyId ?? this.signing!.id, typ: changes.type })
      .setIssuer(changes.issuer ?? this.name)
      .setAudience(changes.audience ?? 'muster')
      .setIssuedAt(changes.issuedAt);
    return signed.setExpirationTime(changes.expires ?? '5m').sign(this.signing!.key);
  }

  /** Exactly these claims below exactly this header, with its true signature; nothing is added. */
  signAsIs(claims: JWTPayload, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
    const { alg = 'ES256', kid = this.signing!.id, ...more } = header;
    const signed = new SignJWT(claims).setProtectedHeader({ alg, kid, ...more });
    return signed.sign(this.signing!.key, { crit: Object.fromEntries((more.crit ?? []).map((name) => [name, true])) });
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
