import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { healthContext, launchedAt, observed, result } from '../../../test/support/fixtures/health.js';
import { readers } from '../../../test/support/proxies/readers.js';
import { addressOf, proxyFormats, proxyText, serviceEndpoints, type ProxiedService } from './index.js';

const at = (host: string, port: number, rackId = 'r1') => ({ host, port, rackId });
const web: ProxiedService = {
  requestId: 'web',
  endpoints: [at('10.0.0.1', 31_000), at('::1', 31_001, 'r2')],
  route: { domains: ['example.com', 'example.org'], paths: ['/web'], groups: [] },
};
const none: ProxiedService = { requestId: 'api', endpoints: [] };

test('nginx gets upstreams; one without endpoints refuses calls', () =>
  expect(proxyText('NGINX', [web, none])).toBe(`upstream api {
  server 127.0.0.1:1 down;
}
upstream web {
  server 10.0.0.1:31000;
  server [::1]:31001;
}
`));

test('HAProxy gets backends', () =>
  expect(proxyText('HAPROXY', [web, none])).toBe(`backend api
backend web
  server 10.0.0.1:31000 10.0.0.1:31000
  server ::1:31001 ipv6@::1:31001
`));

test('Envoy gets the endpoints of clusters, by racks', () =>
  expect(JSON.parse(proxyText('ENVOY', [web, none]) as string)).toEqual({
    resources: [
      {
        '@type': 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
        cluster_name: 'api',
        endpoints: [],
      },
      {
        '@type': 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
        cluster_name: 'web',
        endpoints: [
          {
            locality: { zone: 'r1' },
            lb_endpoints: [{ endpoint: { address: { socket_address: { address: '10.0.0.1', port_value: 31_000 } } } }],
          },
          {
            locality: { zone: 'r2' },
            lb_endpoints: [{ endpoint: { address: { socket_address: { address: '::1', port_value: 31_001 } } } }],
          },
        ],
      },
    ],
  }));

describe('Traefik', () => {
  const read = (...services: ProxiedService[]) => JSON.parse(proxyText('TRAEFIK', services) as string) as unknown;
  test('gets a router for each service with a route, and a service for each', () =>
    expect(read(web, none)).toEqual({
      http: {
        routers: {
          web: { rule: '(Host("example.com") || Host("example.org")) && (PathPrefix("/web"))', service: 'web' },
        },
        services: {
          api: { loadBalancer: { servers: [] } },
          web: { loadBalancer: { servers: [{ url: 'http://10.0.0.1:31000' }, { url: 'http://[::1]:31001' }] } },
        },
      },
    }));
  test('gets no empty maps', () => {
    expect(read()).toEqual({});
    expect(read(none)).toEqual({ http: { services: { api: { loadBalancer: { servers: [] } } } } });
  });
  test('gets texts of routes as literals, whatever is in them', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (path) => {
        const { http } = read({ ...none, route: { domains: [], paths: [path], groups: [] } }) as {
          http: { routers: { api: { rule: string } } };
        };
        const [, literal] = /^\(PathPrefix\((.*)\)\)$/s.exec(http.routers.api.rule)!;
        expect(JSON.parse(literal!)).toBe(path);
        expect(literal!.slice(1, -1).replaceAll(/\\./g, '')).not.toMatch(/["\n]/);
      }),
    ));
});

test.each(proxyFormats)('%s refuses a name that no proxy takes', (format) =>
  expect(proxyText(format, [{ ...web, requestId: 'web {\n' }])).toMatchObject([
    { field: 'requestId', rule: 'pattern' },
  ]),
);
test('nginx refuses names that differ in case alone', () => {
  const both = [web, { ...web, requestId: 'WEB' }];
  expect(proxyText('NGINX', both)).toMatchObject([{ field: 'requestId', rule: 'unique' }]);
  expect(proxyText('HAPROXY', both)).toMatch(/backend WEB[^]*backend web/);
});

describe('whatever hosts there are, a proxy reads what is told, and nothing else', () => {
  const hostile = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.domain(),
    fc.constantFrom('A.0', 'rack-1.7'),
    fc.string(),
    fc.string({
      unit: fc.constantFrom('a', '1', '.', ':', '-', '_', ' ', '\n', '{', '}', ';', '"', "'", '#', '\\', '[', ']'),
    }),
  );
  const service = fc.record({
    requestId: fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,20}$/),
    tasks: fc.array(fc.record({ host: hostile, port: fc.integer({ min: 1, max: 65_535 }), rackId: fc.string() }), {
      maxLength: 6,
    }),
  });
  const services = fc.uniqueArray(service, { selector: ({ requestId }) => requestId, maxLength: 5 });
  test.each(proxyFormats)('%s', (format) =>
    fc.assert(
      fc.property(services, (given) => {
        const told = given.map(({ requestId, tasks }) =>
          serviceEndpoints(
            requestId,
            tasks.map(({ host, port, rackId }, index) => ({
              ...observed({ instanceNo: index + 1, lastResult: result() }),
              killed: false,
              slaveId: 's1',
              host,
              rackId,
              ports: [port],
              context: healthContext(),
            })),
            launchedAt + 60_000,
          ),
        );
        const text = proxyText(format, told);
        if (typeof text !== 'string') throw new Error(JSON.stringify(text));
        const sorted = (addresses: string[]) => addresses.toSorted();
        const read = Object.entries(readers[format](text)).map(([name, addresses]) => [name, sorted(addresses)]);
        const wanted = told.map(({ requestId, endpoints }) => [requestId, sorted(endpoints.map(addressOf))]);
        expect(Object.fromEntries(read)).toEqual(Object.fromEntries(wanted));
      }),
    ),
  );
});
