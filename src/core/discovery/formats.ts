import { problem, type FieldError } from '../field-error.js';
import { addressOf, type Endpoint, type ServiceRoute } from './endpoints.js';

/** What is told of a service to a proxy. */
export interface ProxiedService {
  requestId: string;
  endpoints: readonly Pick<Endpoint, 'host' | 'port' | 'rackId'>[];
  /** Where its calls come from; absent: it has no active deploy. */
  route?: ServiceRoute;
}

export const proxyFormats = ['NGINX', 'HAPROXY', 'ENVOY', 'TRAEFIK'] as const;
export type ProxyFormat = (typeof proxyFormats)[number];

/** Writes the services, in the order of their ids, as a proxy reads them; or what of them it could not read. */
export function proxyText(format: ProxyFormat, services: readonly ProxiedService[]): string | FieldError[] {
  const sorted = services.toSorted((a, b) => (a.requestId < b.requestId ? -1 : 1));
  const errors = sorted.flatMap(nameProblem);
  if (format === 'NGINX') errors.push(...sameNames(sorted));
  return errors.length > 0 ? errors : writers[format](sorted);
}

/** Ids have no other characters by the rules for requests; older ones that were imported may. */
const nameProblem = ({ requestId }: ProxiedService): FieldError[] =>
  /^[a-zA-Z0-9_-]+$/.test(requestId)
    ? []
    : problem('requestId', 'pattern', `No proxy takes the name ${JSON.stringify(requestId)}: name other requests`);

/** For nginx the case of a name is nothing. */
function sameNames(services: readonly ProxiedService[]): FieldError[] {
  const known = new Map<string, string>();
  return services.flatMap(({ requestId }) => {
    const former = known.get(requestId.toLowerCase());
    known.set(requestId.toLowerCase(), requestId);
    return former === undefined
      ? []
      : problem('requestId', 'unique', `For nginx '${former}' and '${requestId}' are one name: name one of them`);
  });
}

const writers: Record<ProxyFormat, (services: readonly ProxiedService[]) => string> = {
  NGINX: (services) => services.map(nginxUpstream).join(''),
  HAPROXY: (services) => services.map(haproxyBackend).join(''),
  ENVOY: (services) => json({ resources: services.map(envoyAssignment) }),
  TRAEFIK: traefikConfiguration,
};

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function nginxUpstream({ requestId, endpoints }: ProxiedService): string {
  const servers = endpoints.map((endpoint) => `  server ${addressOf(endpoint)};\n`).join('');
  // An upstream needs a server. Calls are answered 502 as long as the only one is down.
  return `upstream ${requestId} {\n${servers || '  server 127.0.0.1:1 down;\n'}}\n`;
}

/** A server has the same name as long as its address is the same. */
function haproxyBackend({ requestId, endpoints }: ProxiedService): string {
  const servers = endpoints.map(({ host, port }) => `  server ${host}:${port} ${haproxyAddress(host, port)}\n`);
  return `backend ${requestId}\n${servers.join('')}`;
}

const haproxyAddress = (host: string, port: number): string =>
  host.includes(':') ? `ipv6@${host}:${port}` : `${host}:${port}`;

function envoyAssignment({ requestId, endpoints }: ProxiedService) {
  const racks = [...new Set(endpoints.map(({ rackId }) => rackId))].toSorted();
  return {
    '@type': 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
    cluster_name: requestId,
    endpoints: racks.map((rack) => ({
      locality: { zone: rack },
      lb_endpoints: endpoints
        .filter(({ rackId }) => rackId === rack)
        .map(({ host: address, port: port_value }) => ({
          endpoint: { address: { socket_address: { address, port_value } } },
        })),
    })),
  };
}

/** Routers for services with a domain or a path; the others are there for routers that Traefik has from elsewhere. */
function traefikConfiguration(services: readonly ProxiedService[]): string {
  // Traefik takes no empty maps.
  if (services.length === 0) return json({});
  const routed = services.flatMap(({ requestId, route }) => {
    const rule = route && traefikRule(route);
    return rule === undefined ? [] : [[requestId, { rule, service: requestId }]];
  });
  const served = services.map(({ requestId, endpoints }) => [
    requestId,
    { loadBalancer: { servers: endpoints.map((endpoint) => ({ url: `http://${addressOf(endpoint)}` })) } },
  ]);
  return json({
    http: {
      ...(routed.length > 0 && { routers: Object.fromEntries(routed) }),
      services: Object.fromEntries(served),
    },
  });
}

function traefikRule({ domains, paths }: ServiceRoute): string | undefined {
  const hosts = domains.map((domain) => `Host(${goText(domain)})`);
  const prefixes = paths.map((path) => `PathPrefix(${goText(path)})`);
  const parts = [hosts, prefixes].filter(({ length }) => length > 0).map((choices) => choices.join(' || '));
  return parts.length === 0 ? undefined : parts.map((part) => `(${part})`).join(' && ');
}

/** A literal of Go, in which the rules of Traefik are written: JSON escapes nothing in another way. */
const goText = (text: string): string => JSON.stringify(text.replaceAll(/\p{Surrogate}/gu, '\ufffd'));
