import dns2 from 'dns2';
import type { DnsAnswer, DnsRecord } from '../../core/discovery/index.js';

const { Packet } = dns2;
type Resource = dns2.Packet.Resource;

export const longestQueryBytes = 512;
const usualUdpBytes = 512;
/** What passes every network in one piece. */
const mostUdpBytes = 1_232;
const mostTcpBytes = 65_535;
/** Seconds for which an answer may be kept by those who asked. */
const ttl = 5;

const rcodes = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;
export type Rcode = keyof typeof rcodes;

export interface DnsQuery {
  /** As it was sent. */
  bytes: Buffer;
  name: string;
  type: string | undefined;
  packet: dns2.Packet;
  /** The longest answer that its sender takes. */
  mostBytes: number;
}

/** Reads a query; or the code of the error that it is answered with. undefined: nothing is said to that. */
export function readQuery(bytes: Buffer, by: 'UDP' | 'TCP'): DnsQuery | Rcode | undefined {
  if (bytes.length < 12 || bytes.length > longestQueryBytes || bytes[2]! & 0x80) return undefined;
  if ((bytes[2]! & 0x78) !== 0) return 'NOTIMP';
  // The library reads as many records as the header claims, so the header is looked at before it.
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => bytes.readUInt16BE(at)) as Counts;
  if (questions !== 1 || answers + authorities > 0 || additionals > 1) return 'FORMERR';
  const packet = Packet.parse(bytes);
  const [question] = packet.questions;
  if (!question) return 'FORMERR';
  if (question.class !== Packet.CLASS.IN) return 'REFUSED';
  const opt = packet.additionals.find(({ type }) => type === Packet.TYPE.EDNS);
  const udpBytes = Math.min(Math.max(opt?.class ?? 0, usualUdpBytes), mostUdpBytes);
  const type = Object.entries(Packet.TYPE).find(([, code]) => code === question.type)?.[0];
  return { bytes, packet, name: question.name, type, mostBytes: by === 'TCP' ? mostTcpBytes : udpBytes };
}
type Counts = [number, number, number, number];

/** The same question with nothing but a code. */
export const failureBytes = ({ packet }: DnsQuery, rcode: Rcode): Buffer => bytesOf(packet, { rcode: rcodes[rcode] });

/** An answer that is its header alone, to what is no query. */
export function errorBytes(query: Buffer, rcode: Rcode): Buffer {
  const answer = Buffer.alloc(12);
  query.copy(answer, 0, 0, 2);
  answer[2] = 0x80 | (query[2]! & 0x79);
  answer[3] = rcodes[rcode];
  return answer;
}

/** The answer. One that is too long says so, and has nothing in it: its sender asks again by TCP. */
export function answerBytes(query: DnsQuery, answer: DnsAnswer, domain: string): Buffer {
  const { packet, mostBytes } = query;
  if (answer.kind === 'refused') return failureBytes(query, 'REFUSED');
  const header = { aa: 1, rcode: answer.kind === 'unknown' ? rcodes.NXDOMAIN : rcodes.NOERROR } as const;
  if (answer.kind === 'unknown' || answer.records.length === 0) return bytesOf(packet, header, [], [startOf(domain)]);
  const answers = answer.records.map(resourceOf);
  const whole = bytesOf(packet, header, answers, [], answer.additionals.map(resourceOf));
  if (whole.length <= mostBytes) return whole;
  // The addresses of targets can be asked for by their names.
  const short = bytesOf(packet, header, answers);
  return short.length <= mostBytes ? short : bytesOf(packet, { ...header, tc: 1 });
}

function bytesOf(
  { header: { id, rd }, questions }: dns2.Packet,
  header: Partial<dns2.Packet.Header>,
  answers: Resource[] = [],
  authorities: Resource[] = [],
  additionals: Resource[] = [],
): Buffer {
  const packet = new Packet(new Packet.Header({ id, rd, qr: 1, ...header }));
  Object.assign(packet, { questions, answers, authorities, additionals });
  return packet.toBuffer();
}

function resourceOf(record: DnsRecord): Resource {
  const common = { name: record.name, class: Packet.CLASS.IN, ttl };
  if (record.type !== 'SRV') return { ...common, type: Packet.TYPE[record.type], address: record.address } as Resource;
  const { port, target } = record;
  return { ...common, type: Packet.TYPE.SRV, priority: 0, weight: 1, port, target } as Resource;
}

/** For how long others may remember that there is nothing. */
const startOf = (domain: string): Resource => {
  const start = { primary: domain, admin: `hostmaster.${domain}`, serial: 1, refresh: 60, retry: 60, expiration: 60 };
  return { name: domain, type: Packet.TYPE.SOA, class: Packet.CLASS.IN, ttl, minimum: ttl, ...start } as Resource;
};
