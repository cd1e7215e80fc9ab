import type { ProxyFormat } from '../../../src/core/discovery/index.js';

/** Addresses of each service, as host:port, by its name. */
export type ReadServices = Record<string, string[]>;

/** Reads what is written for a proxy by the rules of that proxy. Fails on what it would not take. */
export const readers: Record<ProxyFormat, (text: string) => ReadServices> = {
  NGINX: readNginx,
  HAPROXY: readHaproxy,
  ENVOY: readEnvoy,
  TRAEFIK: readTraefik,
};

/** Words, and the signs that end them; a comment ends with its line, and quotes hold everything together. */
const nginxWords = (text: string): string[] =>
  [...text.matchAll(/#[^\n]*|"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|[{};]|[^\s{};"']+/g)]
    .filter(([word]) => !word.startsWith('#'))
    .map(([word, double, single]) => double ?? single ?? word);

function readNginx(text: string): ReadServices {
  const words = nginxWords(text);
  const services: [string, string[]][] = [];
  const take = (wanted?: string): string => {
    const word = words.shift();
    if (word === undefined || (wanted !== undefined && word !== wanted)) throw new Error(`${word}, not ${wanted}`);
    return word;
  };
  while (words.length > 0) {
    take('upstream');
    const servers: string[] = [];
    services.push([take(), servers]);
    take('{');
    while (words[0] !== '}') {
      take('server');
      const address = take();
      if (words[0] === 'down') take();
      else servers.push(address);
      take(';');
    }
    take('}');
  }
  return Object.fromEntries(services);
}

function readHaproxy(text: string): ReadServices {
  const services: ReadServices = {};
  let servers: string[] | undefined;
  for (const line of text.split('\n')) {
    const [word, name, address, ...rest] = line.trim().split(/\s+/);
    if (word === '' || word?.startsWith('#')) continue;
    if (rest.length > 0) throw new Error(`Too many words: ${line}`);
    if (word === 'backend' && /^[A-Za-z0-9_.:-]+$/.test(name!)) services[name!] = servers = [];
    else if (word === 'server' && servers && /^[A-Za-z0-9_.:-]+$/.test(name!)) servers.push(bracketed(address!));
    else throw new Error(`No line of a backend: ${line}`);
  }
  return services;
}

const bracketed = (address: string): string => address.replace(/^ipv6@(.*):(\d+)$/, '[$1]:$2');

function readEnvoy(text: string): ReadServices {
  interface Assignment {
    cluster_name: string;
    endpoints: {
      lb_endpoints: { endpoint: { address: { socket_address: { address: string; port_value: number } } } }[];
    }[];
  }
  const { resources } = JSON.parse(text) as { resources: Assignment[] };
  return Object.fromEntries(
    resources.map(({ cluster_name: name, endpoints }) => [
      name,
      endpoints.flatMap(({ lb_endpoints: all }) =>
        all.map(({ endpoint: { address } }) => {
          const { address: host, port_value: port } = address.socket_address;
          return `${host.includes(':') ? `[${host}]` : host}:${port}`;
        }),
      ),
    ]),
  );
}

function readTraefik(text: string): ReadServices {
  const { http } = JSON.parse(text) as {
    http?: { services: Record<string, { loadBalancer: { servers: { url: string }[] } }> };
  };
  return Object.fromEntries(
    Object.entries(http?.services ?? {}).map(([name, { loadBalancer }]) => [
      name,
      loadBalancer.servers.map(({ url }) => {
        // As Go reads it: the URL of JavaScript takes a name that ends in a number for a wrong address.
        const [, address] = /^http:\/\/([^/?#@\s]+)$/.exec(url) ?? [];
        if (address === undefined) throw new Error(`More than an address: ${url}`);
        return address;
      }),
    ]),
  );
}
