import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from 'rest-contract';
import { nodeListener } from 'rest-contract/node';
import { BalancerStateApi, LoadBalancerApi } from '../../../src/platform/load-balancer/http-load-balancer.js';
import { Balancer } from './balancer.js';

/**
 * up: answers. down: hangs up before it has read anything. mute: carries out what it is told, and never answers. A number: the
 * status it answers with, having done nothing.
 */
export type BalancerMode = 'up' | 'down' | 'mute' | number;

export interface BalancerServer {
  /** For loadBalancerUri. */
  uri: string;
  balancer: Balancer;
  mode: BalancerMode;
  /** Calls that arrived, in any mode: method and target. */
  calls: string[];
  close(): Promise<void>;
}

const basePath = '/lb';

/** A load balancer behind real HTTP. `balancer`: one that does something with its upstreams. */
export async function startBalancer(balancer = new Balancer()): Promise<BalancerServer> {
  const changes = nodeListener(serve(LoadBalancerApi, balancer), { basePath: `${basePath}/request` });
  const services = nodeListener(serve(BalancerStateApi, balancer), { basePath: `${basePath}/state` });
  const http = createServer((request, response) => {
    server.calls.push(`${request.method} ${request.url}`);
    if (server.mode === 'down') {
      request.socket.destroy();
      return;
    }
    if (typeof server.mode === 'number') {
      response.writeHead(server.mode, { 'content-type': 'text/plain' }).end(`status ${server.mode}`);
      return;
    }
    if (server.mode === 'mute') response.end = () => response;
    (isAboutServices(request) ? services : changes)(request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const server: BalancerServer = {
    uri: `http://127.0.0.1:${(http.address() as AddressInfo).port}${basePath}/request`,
    balancer,
    mode: 'up',
    calls: [],
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return server;
}

const isAboutServices = ({ url }: IncomingMessage): boolean => url?.startsWith(`${basePath}/state`) === true;
