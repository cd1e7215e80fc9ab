import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { bracketed } from '../addresses.js';
import { PROCESS_ROLE, type ProcessRole } from '../process/process-role.js';
import { SETTINGS, type Settings } from '../settings/settings.js';

const everywhere = new Set(['0.0.0.0', '::']);

/** Identity of this process among the instances, and its addresses. */
@Injectable()
export class ThisInstance {
  /** Id of this process; never used again. */
  readonly id: string = `${hostname()}:${process.pid}:${randomUUID()}`;

  constructor(
    private readonly http: HttpAdapterHost,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(PROCESS_ROLE) private readonly role: ProcessRole,
  ) {}

  /** The one address by which others are told to reach this instance; undefined before it listens. */
  address(): string | undefined {
    const { advertisedUrl, host } = this.settings;
    return advertisedUrl ?? this.url(everywhere.has(host) ? hostname() : host);
  }

  /** Address at which a program on this machine finds it; undefined before it listens. */
  localAddress(): string | undefined {
    const { host } = this.settings;
    return this.url(everywhere.has(host) ? 'localhost' : host);
  }

  private url(host: string): string | undefined {
    const port = this.port();
    if (port === undefined) return undefined;
    return `http://${bracketed(host)}:${port}${this.settings.http.contextPath}`;
  }

  /** A leader listens for its workers, too: that port is no address of the instance. */
  private port(): number | undefined {
    if (this.role.kind === 'leader') return this.role.workers.port;
    if (this.role.kind === 'worker') return this.role.port;
    return (this.http.httpAdapter?.getHttpServer()?.address() as AddressInfo | null | undefined)?.port;
  }
}
