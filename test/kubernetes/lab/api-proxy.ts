import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { request as requestTls } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Lab } from './lab.js';

export interface ApiCallSeen {
  method: string;
  path: string;
  isWatch: boolean;
  /** By the monotonic clock. */
  at: number;
}

interface Kubeconfig {
  clusters: [{ cluster: object }];
  users: [{ user: object }];
}

/** A way to the API server of a lab that knows the calls on it, and on which a test answers in its place. */
export class ApiProxy {
  readonly calls: ApiCallSeen[] = [];
  /** True: it has answered. */
  answer: (call: ApiCallSeen, response: ServerResponse) => boolean = () => false;
  private readonly server: Server;
  private readonly watches = new Set<ServerResponse>();

  private constructor(private readonly lab: Lab) {
    const ca = readFileSync(join(lab.folder, 'pki/ca.crt'));
    this.server = createServer((near, response) => {
      const url = new URL(near.url ?? '/', 'http://x');
      const { method = 'GET', headers } = near;
      const call = { method, path: url.pathname, isWatch: url.searchParams.has('watch'), at: performance.now() };
      this.calls.push(call);
      if (call.isWatch) {
        this.watches.add(response);
        response.on('close', () => this.watches.delete(response));
      }
      if (this.answer(call, response)) return void near.resume();
      const far = requestTls({ host: '127.0.0.1', port: lab.apiServerPort, path: near.url, method, headers, ca });
      carry(near, response, far);
    });
  }

  static async start(lab: Lab): Promise<ApiProxy> {
    const proxy = new ApiProxy(lab);
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** Writes a kubeconfig by this way; `token`: absent: that of the lab. */
  writeConfig(path: string, token?: string): void {
    const config = parse(readFileSync(this.lab.kubeconfig, 'utf8')) as Kubeconfig;
    const { port } = this.server.address() as AddressInfo;
    // Else the library takes no address without TLS.
    config.clusters[0].cluster = { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true };
    if (token !== undefined) config.users[0].user = { token };
    writeFileSync(path, stringify(config));
  }

  /** Those that are open now. */
  breakWatches(): void {
    for (const response of this.watches) response.destroy();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

function carry(near: IncomingMessage, response: ServerResponse, far: ReturnType<typeof request>): void {
  far.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    // A watch without events has answered, too.
    response.flushHeaders();
    answer.on('error', () => response.destroy());
    answer.on('close', () => (answer.complete ? undefined : response.destroy()));
    answer.pipe(response);
  });
  far.on('error', () => response.destroy());
  response.on('close', () => far.destroy());
  near.pipe(far);
}
