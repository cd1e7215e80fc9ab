import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dnsAnswer, readDnsName, type Endpoint } from './index.js';

const domain = 'muster.internal';
const at = (host: string, port: number, ports = [port]): Endpoint => ({
  taskId: `t-${host}-${port}`,
  deployId: 'd1',
  instanceNo: 1,
  host,
  slaveId: 's1',
  rackId: 'r1',
  ports,
  port,
  healthySince: 0,
});
const endpoints = [
  at('10.0.0.1', 31_000, [30_999, 31_000]),
  at('10.0.0.1', 31_001),
  at('2001:db8::7', 31_002),
  at('node1.example.com', 31_003),
];
const ask = (name: string, type?: string, found: Endpoint[] | undefined = endpoints) =>
  dnsAnswer(readDnsName(name, domain), type, name, domain, found);
const ipv4 = { name: 'ip-10-0-0-1.web.muster.internal', type: 'A', address: '10.0.0.1' };
const ipv6 = { name: 'ip-2001-db8--7.web.muster.internal', type: 'AAAA', address: '2001:db8::7' };

test('_port._tcp answers the ports for calls, with the addresses of machines that have no name', () => {
  const name = '_port._tcp.web.muster.internal';
  expect(ask(name, 'SRV')).toEqual({
    kind: 'found',
    records: [
      { name, type: 'SRV', port: 31_000, target: ipv4.name },
      { name, type: 'SRV', port: 31_001, target: ipv4.name },
      { name, type: 'SRV', port: 31_002, target: ipv6.name },
      { name, type: 'SRV', port: 31_003, target: 'node1.example.com' },
    ],
    additionals: [ipv4, ipv6],
  });
});
test('_port1._tcp answers the second port of the tasks that have one', () =>
  expect(ask('_port1._tcp.web.muster.internal', 'SRV')).toMatchObject({ records: [{ port: 31_000 }] }));
test('the service answers each address once, by type', () => {
  expect(ask('web.muster.internal', 'A')).toMatchObject({ records: [{ address: '10.0.0.1' }] });
  expect(ask('WEB.Muster.Internal.', 'AAAA')).toMatchObject({
    records: [{ name: 'WEB.Muster.Internal.', address: '2001:db8::7' }],
  });
  expect(ask('web.muster.internal', 'TXT')).toMatchObject({ records: [] });
});
test('the name of a machine answers its address, and no address that no endpoint has', () => {
  expect(ask(ipv4.name, 'A')).toEqual({ kind: 'found', records: [ipv4], additionals: [] });
  expect(ask(ipv6.name, 'AAAA')).toEqual({ kind: 'found', records: [ipv6], additionals: [] });
  expect(ask('ip-10-0-0-2.web.muster.internal', 'A')).toEqual({ kind: 'unknown' });
});
test.each([
  ['example.com', 'refused'],
  ['notmuster.internal', 'refused'],
  ['muster.internal', 'found'],
  ['a.b.web.muster.internal', 'unknown'],
  ['_udp._port.web.muster.internal', 'unknown'],
  ['_port._udp.web.muster.internal', 'unknown'],
  ['x._port._tcp.web.muster.internal', 'unknown'],
  ['.muster.internal', 'unknown'],
])('%s is %s', (name, kind) => expect(ask(name, 'SRV').kind).toBe(kind));
test('a service that is not there is unknown; one without endpoints has no records', () => {
  expect(dnsAnswer(readDnsName('web.muster.internal', domain), 'A', '', domain, undefined)).toEqual({
    kind: 'unknown',
  });
  expect(ask('_port._tcp.web.muster.internal', 'SRV', [])).toEqual({ kind: 'found', records: [], additionals: [] });
});
test('whatever is asked for, only addresses of endpoints are answered', () =>
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom('web', '_port', '_tcp', 'ip-10-0-0-1'))), (labels) => {
      const answer = ask([...labels, domain].join('.'), 'A');
      if (answer.kind === 'found')
        for (const record of answer.records) expect(record).toMatchObject({ address: '10.0.0.1' });
    }),
  ));
