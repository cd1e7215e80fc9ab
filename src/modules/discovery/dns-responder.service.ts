import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6, type Server, type Socket } from 'node:net';
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { dnsAnswer, readDnsName } from '../../core/discovery/index.js';
import { StartError } from '../../platform/errors.js';
import { monotonicMillis } from '../../platform/monotonic.js';
import { PROCESS_ROLE, type ProcessRole } from '../../platform/process/process-role.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { AddressRate } from './address-rate.js';
import type { DnsQuery } from './dns-message.js';
import { ServiceReads } from './service-reads.service.js';

/** Reads of the database at a time; queries beyond get no answer, and are sent again by those who sent them. */
const mostLookups = 20;
const mostConnections = 100;
const mostConnectionsPerAddress = 10;
const idleMillis = 5_000;

/** Answers DNS queries about services that have names. It knows nothing beyond its domain, and asks no other server. */
@Injectable()
export class DnsResponder implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly log = new Logger(DnsResponder.name);
  private readonly rate = new AddressRate();
  /** Their addresses. */
  private readonly connections = new Map<Socket, string>();
  private lookups = 0;
  private udp: UdpSocket | undefined;
  private tcp: Server | undefined;
  /** Loaded where it is needed. */
  private messages!: typeof import('./dns-message.js');

  constructor(
    private readonly services: ServiceReads,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(PROCESS_ROLE) private readonly role: ProcessRole,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { port, host, domain } = this.settings.dns;
    if (port === undefined || this.role.kind === 'worker') return;
    this.messages = await import('./dns-message.js');
    this.udp = createSocket(isIPv6(host) ? 'udp6' : 'udp4', (query, from) => void this.answerUdp(query, from));
    // Who has sent the last query may say so before it is answered.
    this.tcp = createServer({ allowHalfOpen: true }, (socket) => this.accept(socket));
    try {
      const listening = Promise.all([once(this.udp, 'listening'), once(this.tcp, 'listening')]);
      this.udp.bind(port, host);
      this.tcp.listen(port, host);
      await listening;
    } catch (cause) {
      this.onApplicationShutdown();
      const message = `Cannot answer DNS queries at port ${port} of ${host} (dns.port, dns.host): ${(cause as Error).message}`;
      throw new StartError(message, { cause });
    }
    for (const server of [this.udp, this.tcp]) server.on('error', (cause) => this.log.warn(`DNS: ${cause.message}`));
    this.log.log(`DNS queries for ${domain} are answered at port ${port} of ${host}`);
  }

  onApplicationShutdown(): void {
    this.udp?.close();
    this.tcp?.close();
    for (const socket of this.connections.keys()) socket.destroy();
    this.udp = this.tcp = undefined;
  }

  private async answerUdp(query: Buffer, { address, port }: RemoteInfo): Promise<void> {
    if (!this.rate.take(address, monotonicMillis())) return;
    const answer = await this.answer(query, 'UDP');
    if (answer) this.udp?.send(answer, port, address, () => undefined);
  }

  private accept(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const ofAddress = [...this.connections.values()].filter((other) => other === address).length;
    if (this.connections.size >= mostConnections || ofAddress >= mostConnectionsPerAddress) {
      socket.destroy();
      return;
    }
    this.connections.set(socket, address);
    socket.on('close', () => this.connections.delete(socket));
    socket.setTimeout(idleMillis, () => socket.destroy());
    void this.serve(socket, address).then(
      () => socket.end(),
      () => socket.destroy(),
    );
  }

  /** One query after the other, each behind its length. */
  private async serve(socket: Socket, address: string): Promise<void> {
    let rest: Buffer = Buffer.alloc(0);
    for await (const piece of socket) {
      rest = Buffer.concat([rest, piece as Buffer]);
      for (;;) {
        const length = rest.length < 2 ? 0 : rest.readUInt16BE();
        if (length > this.messages.longestQueryBytes) return;
        if (rest.length < 2 + length) break;
        const query = rest.subarray(2, length + 2);
        rest = rest.subarray(length + 2);
        const answer = this.rate.take(address, monotonicMillis()) ? await this.answer(query, 'TCP') : undefined;
        if (!answer) return;
        const prefix = Buffer.alloc(2);
        prefix.writeUInt16BE(answer.length);
        if (!socket.write(Buffer.concat([prefix, answer]))) await once(socket, 'drain');
      }
    }
  }

  /** undefined: there is nothing to say to that, or no time for it. */
  private async answer(bytes: Buffer, by: 'UDP' | 'TCP'): Promise<Buffer | undefined> {
    const { readQuery, errorBytes, failureBytes } = this.messages;
    let query: ReturnType<typeof readQuery>;
    try {
      query = readQuery(bytes, by);
    } catch {
      return errorBytes(bytes, 'FORMERR');
    }
    if (query === undefined) return undefined;
    if (typeof query === 'string') return errorBytes(bytes, query);
    try {
      return await this.found(query);
    } catch (cause) {
      // Without the database nobody is told that there is no such name.
      this.log.debug(`DNS: ${cause instanceof Error ? cause.message : String(cause)}`);
      return failureBytes(query, 'SERVFAIL');
    }
  }

  private async found(query: DnsQuery): Promise<Buffer | undefined> {
    const { domain, loadBalancerGroup } = this.settings.dns;
    const name = readDnsName(query.name, domain);
    if (name.kind !== 'service')
      return this.messages.answerBytes(query, dnsAnswer(name, query.type, query.name, domain, undefined), domain);
    if (this.lookups >= mostLookups) return undefined;
    this.lookups += 1;
    try {
      const endpoints = await this.services.ofGroup(name.requestId, loadBalancerGroup);
      return this.messages.answerBytes(query, dnsAnswer(name, query.type, query.name, domain, endpoints), domain);
    } finally {
      this.lookups -= 1;
    }
  }
}
