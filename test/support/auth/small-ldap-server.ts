import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import { readValue, readValues, sequence, text, write, type Value } from './ber.js';

const bindRequest = 0x60;
const unbindRequest = 0x42;
const searchRequest = 0x63;
const extendedRequest = 0x77;
const equalityFilter = 0xa3;
const success = 0;
const noSuchObject = 32;
const invalidCredentials = 49;
const unavailable = 52;

export interface DirectoryEntry {
  dn: string;
  attributes: Record<string, string[]>;
}

export interface Search {
  base: string;
  /** 0: the entry itself, 1: right below it, 2: anywhere below it. */
  scope: number;
  attribute: string;
  value: string;
}

/** Speaks as much LDAP (RFC 4511) as a directory of users needs: simple binds, and searches for one attribute. */
export class SmallLdapServer {
  readonly searches: Search[] = [];
  readonly binds: { dn: string; password: string }[] = [];
  /** Hangs up on every client that asks something. */
  broken = false;
  /** Changes over to TLS with this certificate when a client asks for it (StartTLS). */
  upgradesWith: { key: string; cert: string } | undefined;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly entries: readonly DirectoryEntry[],
    private readonly password: string,
  ) {}

  /** `certificate`: it speaks TLS from the first byte. */
  static async start(
    entries: readonly DirectoryEntry[],
    password: string,
    certificate?: { key: string; cert: string },
  ): Promise<SmallLdapServer> {
    const server = certificate ? createTlsServer(certificate) : createServer();
    const directory = new SmallLdapServer(server, entries, password);
    server.on(certificate ? 'secureConnection' : 'connection', (socket: Socket) => directory.serve(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return directory;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** As a network does that loses its connections. */
  hangUp(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.hangUp();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket)).on('error', () => undefined);
    let waiting = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      if (this.broken) return void socket.destroy();
      waiting = Buffer.concat([waiting, chunk]);
      for (let found = readValue(waiting); found; found = readValue(waiting)) {
        waiting = Buffer.from(found.rest);
        this.answer(socket, readValues(found.value.bytes));
      }
    });
  }

  private answer(socket: Socket, [id, operation]: Value[]): void {
    const send = (tag: number, ...parts: Buffer[]) =>
      void socket.write(sequence(write(0x02, id!.bytes), write(tag, ...parts)));
    const done = (tag: number, code: number) => send(tag, write(0x0a, Buffer.from([code])), text(''), text(''));
    const parts = readValues(operation!.bytes);
    if (operation!.tag === unbindRequest) return void socket.end();
    if (operation!.tag === extendedRequest && this.upgradesWith) {
      done(0x78, success);
      socket.removeAllListeners('data');
      return this.serve(new TLSSocket(socket, { isServer: true, ...this.upgradesWith }));
    }
    if (operation!.tag === extendedRequest) return done(0x78, unavailable);
    if (operation!.tag === bindRequest) return done(0x61, this.bind(parts));
    if (operation!.tag !== searchRequest) return void socket.destroy();
    const search = searchIn(parts);
    this.searches.push(search);
    if (search.base.includes('missing')) return done(0x65, noSuchObject);
    for (const { dn, attributes } of this.entries.filter((entry) => matches(entry, search))) {
      const written = Object.entries(attributes).map(([name, values]) =>
        sequence(text(name), write(0x31, ...values.map(text))),
      );
      send(0x64, text(dn), sequence(...written));
    }
    done(0x65, success);
  }

  private bind([_version, dn, password]: Value[]): number {
    const sent = { dn: dn!.bytes.toString(), password: password!.bytes.toString() };
    this.binds.push(sent);
    return sent.password === this.password ? success : invalidCredentials;
  }
}

function searchIn([base, scope, _aliases, _size, _time, _typesOnly, filter]: Value[]): Search {
  if (filter!.tag !== equalityFilter) throw new Error(`Only filters like (uid=ann) are known here, not ${filter!.tag}`);
  const [attribute, value] = readValues(filter!.bytes);
  return {
    base: base!.bytes.toString(),
    scope: scope!.bytes[0]!,
    attribute: attribute!.bytes.toString(),
    value: value!.bytes.toString(),
  };
}

function matches({ dn, attributes }: DirectoryEntry, { base, scope, attribute, value }: Search): boolean {
  const above = dn.slice(dn.indexOf(',') + 1);
  const isThere = scope === 0 ? dn === base : scope === 1 ? above === base : dn === base || dn.endsWith(`,${base}`);
  return isThere && (attributes[attribute]?.includes(value) ?? false);
}
