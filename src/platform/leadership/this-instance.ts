import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { PART, type Part } from '../process/part.js';
import { SETTINGS, type Settings } from '../settings/settings.js';

const everywhere = new Set(['0.0.0.0', '::']);

/** How this process is told apart from the other instances, and where it answers. */
@Injectable()
export class ThisInstance {
  /** Of this process; never used again. */
  readonly id: string = `${hostname()}:${process.pid}:${randomUUID()}`;

  constructor(
    private readonly http: HttpAdapterHost,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(PART) private readonly part: Part,
  ) {}

  private portOfOthers: number | undefined;

  /** Said where other processes of this instance listen for it. */
  answersAt(port: number): void {
    this.portOfOthers = port;
  }

  /** The one address by which others are told to reach this instance; undefined before it listens. */
  address(): string | undefined {
    const { advertisedUrl, host } = this.settings;
    return advertisedUrl ?? this.url(everywhere.has(host) ? hostname() : host);
  }

  /** Where a program on this machine finds it; undefined before it listens. */
  localAddress(): string | undefined {
    const { host } = this.settings;
    return this.url(everywhere.has(host) ? 'localhost' : host);
  }

  private url(host: string): string | undefined {
    const listening = this.http.httpAdapter?.getHttpServer()?.address() as AddressInfo | null | undefined;
    // What the process that leads listens on, while others answer callers, is no address of the instance.
    const port = this.part.port ?? this.portOfOthers ?? (this.part.key === undefined ? listening?.port : undefined);
    if (port === undefined) return undefined;
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}${this.settings.http.contextPath}`;
  }
}
