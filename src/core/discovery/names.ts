import type { Endpoint } from './endpoints.js';

export type DnsRecord =
  { name: string; type: 'A' | 'AAAA'; address: string } | { name: string; type: 'SRV'; port: number; target: string };

export type DnsAnswer =
  /** Not of our domain: somebody else has to be asked. */
  | { kind: 'refused' }
  /** There is no such name. */
  | { kind: 'unknown' }
  /** Without records: the name has none of this type. `additionals`: the addresses of the targets. */
  | { kind: 'found'; records: DnsRecord[]; additionals: DnsRecord[] };

type Address = Extract<DnsRecord, { address: string }>;

/** What a name asks for. */
export type DnsName =
  | { kind: 'outside' }
  | { kind: 'domain' }
  | { kind: 'none' }
  /** The addresses of a service; of one of its machines; or its ports. */
  | { kind: 'service'; requestId: string; machine?: string; port?: number | 'calls' };

/** Reads `web.<domain>`, `ip-10-0-0-1.web.<domain>`, `_port._tcp.web.<domain>` (for calls) or `_port1._tcp.web.<domain>`. */
export function readDnsName(text: string, domain: string): DnsName {
  const name = text.toLowerCase().replace(/\.$/, '');
  if (name === domain) return { kind: 'domain' };
  if (!name.endsWith(`.${domain}`)) return { kind: 'outside' };
  const labels = name.slice(0, -domain.length - 1).split('.');
  const requestId = labels.pop()!;
  if (!/^[a-z0-9_-]+$/.test(requestId)) return { kind: 'none' };
  const [first, protocol, ...rest] = labels;
  if (first === undefined) return { kind: 'service', requestId };
  if (protocol === undefined)
    return first.startsWith('ip-') ? { kind: 'service', requestId, machine: first } : { kind: 'none' };
  const index = /^_port(\d{0,3})$/.exec(first)?.[1];
  if (index === undefined || protocol !== '_tcp' || rest.length > 0) return { kind: 'none' };
  return { kind: 'service', requestId, port: index === '' ? 'calls' : Number(index) };
}

/** `endpoints`: of the service that the name asks for; absent: there is none. */
export function dnsAnswer(
  name: DnsName,
  type: string | undefined,
  asked: string,
  domain: string,
  endpoints: readonly Endpoint[] | undefined,
): DnsAnswer {
  if (name.kind === 'outside') return { kind: 'refused' };
  if (name.kind === 'domain') return { kind: 'found', records: [], additionals: [] };
  if (name.kind === 'none' || !endpoints) return { kind: 'unknown' };
  const zone = `${name.requestId}.${domain}`;
  if (name.port === undefined) {
    const all = endpoints.flatMap((endpoint) => addressRecord(endpoint, zone) ?? []);
    const wanted = all.filter((record) => name.machine === undefined || record.name === `${name.machine}.${zone}`);
    if (name.machine !== undefined && wanted.length === 0) return { kind: 'unknown' };
    const records = once(wanted.map((record) => ({ ...record, name: asked })));
    return { kind: 'found', records: records.filter((record) => record.type === type), additionals: [] };
  }
  const served = endpoints.flatMap((endpoint) => {
    const port = name.port === 'calls' ? endpoint.port : endpoint.ports[name.port!];
    return port === undefined ? [] : [{ endpoint, port }];
  });
  if (type !== 'SRV') return { kind: 'found', records: [], additionals: [] };
  const addresses = served.map(({ endpoint }) => addressRecord(endpoint, zone));
  return {
    kind: 'found',
    records: served.map(({ endpoint, port }, at) => {
      return { name: asked, type: 'SRV', port, target: addresses[at]?.name ?? endpoint.host };
    }),
    additionals: once(addresses.flatMap((record) => record ?? [])),
  };
}

const once = (records: readonly Address[]): Address[] => [
  ...new Map(records.map((record) => [`${record.name} ${record.address}`, record])).values(),
];

/** The target of an SRV record is a name: a machine that has an address alone gets one. undefined: it has a name of its own. */
function addressRecord({ host }: Endpoint, zone: string): Address | undefined {
  if (host.includes(':')) {
    return { name: `ip-${host.replaceAll(':', '-')}.${zone}`, type: 'AAAA', address: host };
  }
  const isIpv4 = /^\d{1,3}(\.\d{1,3}){3}$/.test(host) && URL.canParse(`http://${host}`);
  if (!isIpv4) return undefined;
  const address = new URL(`http://${host}`).hostname;
  return { name: `ip-${address.replaceAll('.', '-')}.${zone}`, type: 'A', address };
}
