import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import dns2 from 'dns2';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertDeploy, insertRequest, insertTask } from '../../../test/support/builders.js';
import { freePort } from '../../../test/support/free-port.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { AddressRate } from './address-rate.js';
import { DiscoveryModule } from './discovery.module.js';

const { Packet } = dns2;
const launched = Date.now() - 60_000;
const resolver = new Resolver({ tries: 1 });
let rooms: RoomApp;
let port: number;

beforeAll(async () => {
  port = await freePort();
  const dns = { port, host: '127.0.0.1', domain: 'muster.internal', loadBalancerGroup: 'dns' };
  rooms = await startRooms({ modules: [DiscoveryModule], settings: { dns } });
  resolver.setServers([`127.0.0.1:${port}`]);
  const tx = rooms.database.pool;
  for (const [id, group, count] of [
    ['web', 'dns', 2],
    ['many', 'dns', 60],
    ['none', 'dns', 0],
    ['hidden', 'public', 1],
  ] as const) {
    await insertRequest(tx, { request: { id }, activeDeployId: 'd1' });
    await insertDeploy(tx, { deploy: { requestId: id, loadBalancerGroups: [group] } });
    for (let instanceNo = 1; instanceNo <= count; instanceNo++) {
      const host = id === 'web' && instanceNo === 2 ? 'node2.example.com' : `10.0.0.${instanceNo}`;
      const row = { requestId: id, instanceNo, host, ports: [31_000 + instanceNo], startedAt: launched };
      await insertTask(tx, { ...row, updates: [['TASK_RUNNING', launched]] });
    }
  }
});
afterAll(() => rooms.close());

function queryOf(name: string, type: number, udpBytes?: number): Buffer {
  const packet = new Packet();
  packet.header = new Packet.Header({ id: 7, rd: 1 });
  packet.questions = [new Packet.Question({ name, type, class: Packet.CLASS.IN })];
  if (udpBytes !== undefined)
    packet.additionals = [Object.assign(Packet.Resource.EDNS([]), { name: '', class: udpBytes })];
  return packet.toBuffer();
}
/** Sends these and takes the first answer. */
async function udp(...queries: Buffer[]): Promise<Buffer> {
  const socket = createSocket('udp4');
  try {
    const answered = once(socket, 'message') as Promise<[Buffer]>;
    for (const query of queries) socket.send(query, port, '127.0.0.1');
    return (await answered)[0];
  } finally {
    socket.close();
  }
}
/** Answered without the database, so before everything else. */
const marker = queryOf('marker.example.com', Packet.TYPE.A);
marker.writeUInt16BE(65_000);
const rcodeOf = (bytes: Buffer) => bytes[3]! & 0x0f;
const isTruncated = (bytes: Buffer) => (bytes[2]! & 0x02) !== 0;

describe('a resolver', () => {
  test('finds the ports of a service, and the addresses of its machines', async () => {
    const found = await resolver.resolveSrv('_port._tcp.web.muster.internal');
    expect(found).toEqual([
      { name: 'ip-10-0-0-1.web.muster.internal', port: 31_001, priority: 0, weight: 1 },
      { name: 'node2.example.com', port: 31_002, priority: 0, weight: 1 },
    ]);
    expect(await resolver.resolve4(found[0]!.name, { ttl: true })).toEqual([{ address: '10.0.0.1', ttl: 5 }]);
    expect(await resolver.resolve4('web.muster.internal')).toEqual(['10.0.0.1']);
  });
  test('gets a long answer by TCP', async () =>
    expect(await resolver.resolveSrv('_port._tcp.many.muster.internal')).toHaveLength(60));
  test.each([
    ['_port._tcp.hidden.muster.internal', 'ENOTFOUND'],
    ['_port._tcp.nobody.muster.internal', 'ENOTFOUND'],
    ['_port._tcp.none.muster.internal', 'ENODATA'],
    ['_port._tcp.example.com', 'EREFUSED'],
  ])('is told of %s: %s', (name, code) => expect(resolver.resolveSrv(name)).rejects.toMatchObject({ code }));
});

describe('by UDP', () => {
  const many = '_port._tcp.many.muster.internal';
  test.each([
    [undefined, 512],
    [1_000, 1_000],
    [65_535, 1_232],
    [0, 512],
  ])('an answer to a sender who takes %s bytes is no longer than %i', async (udpBytes, most) => {
    const answer = await udp(queryOf(many, Packet.TYPE.SRV, udpBytes));
    expect(answer.length).toBeLessThanOrEqual(most);
    expect(isTruncated(answer)).toBe(true);
  });
  test('what is no query of one name is refused by its code, or not answered', async () => {
    const query = queryOf('web.muster.internal', Packet.TYPE.A);
    const changed = (at: number, value: number) => {
      const copy = Buffer.from(query);
      copy[at] = value;
      return copy;
    };
    expect(rcodeOf(await udp(query))).toBe(0);
    expect(rcodeOf(await udp(changed(5, 2)))).toBe(1);
    expect(rcodeOf(await udp(changed(6, 255)))).toBe(1);
    expect(rcodeOf(await udp(changed(11, 2)))).toBe(1);
    expect(rcodeOf(await udp(changed(2, 0x28)))).toBe(4);
    expect(rcodeOf(await udp(changed(query.length - 1, 3)))).toBe(5);
    for (const bytes of [changed(2, 0x81), query.subarray(0, 11), Buffer.alloc(513)])
      expect((await udp(bytes, marker)).readUInt16BE()).toBe(65_000);
  });
  test('no bytes end it', () =>
    fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 60 }), async (bytes) => {
        // Within what an address may ask for.
        const query = Buffer.concat([Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, bytes[0]! & 1]), bytes]);
        await udp(query, marker);
        expect((await udp(marker)).readUInt16BE()).toBe(65_000);
      }),
      { numRuns: 10 },
    ));
});

describe('by TCP', () => {
  const framed = (bytes: Buffer) => Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
  async function tcp(...pieces: Buffer[]): Promise<Buffer> {
    const socket = connect(port, '127.0.0.1');
    const received: Buffer[] = [];
    socket.on('data', (piece) => received.push(piece));
    for (const piece of pieces) socket.write(piece);
    socket.end();
    await once(socket, 'close');
    return Buffer.concat(received);
  }
  test('several queries of a connection are answered in their order', async () => {
    const query = framed(queryOf('web.muster.internal', Packet.TYPE.A));
    const answers = await tcp(Buffer.concat([query, query.subarray(0, 5)]), query.subarray(5));
    const length = answers.readUInt16BE();
    expect(answers.length).toBe(2 * (length + 2));
    expect(rcodeOf(answers.subarray(2))).toBe(0);
  });
  test('a query that is too long ends its connection', async () =>
    expect(await tcp(Buffer.from([2, 1]), Buffer.alloc(513))).toHaveLength(0));
  test('an address has at most ten connections', async () => {
    const sockets = Array.from({ length: 11 }, () => connect(port, '127.0.0.1'));
    try {
      const closed = await Promise.race(sockets.map((socket) => once(socket.resume(), 'close').then(() => socket)));
      expect(sockets.filter((socket) => socket !== closed && socket.closed)).toEqual([]);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });
});

test('without the database it is a failure of the server, and no missing name', async () => {
  await rooms.database.pool.query('ALTER TABLE request RENAME TO away');
  try {
    await expect(resolver.resolveSrv('_port._tcp.web.muster.internal')).rejects.toMatchObject({ code: 'ESERVFAIL' });
  } finally {
    await rooms.database.pool.query('ALTER TABLE away RENAME TO request');
  }
});

test('a port that is taken ends the start with a line that says so', async () => {
  const dns = { port, host: '127.0.0.1', domain: 'muster.internal', loadBalancerGroup: 'dns' };
  await expect(startRooms({ modules: [DiscoveryModule], settings: { dns } })).rejects.toThrow(
    `Cannot answer DNS queries at port ${port} of 127.0.0.1 (dns.port, dns.host): `,
  );
});

describe('an address', () => {
  test('may ask 100 times at once, then 50 times a second', () => {
    const rate = new AddressRate();
    const taken = (address: string, now: number) =>
      Array.from({ length: 200 }, () => rate.take(address, now)).filter(Boolean).length;
    expect([taken('10.0.0.1', 0), taken('10.0.0.1', 1_000), taken('10.0.0.2', 1_000)]).toEqual([100, 50, 100]);
  });
  test.each([
    ['2001:db8::1', '2001:db8:0:0:ffff::1', false],
    ['2001:db8::1', '2001:db8:0:1::1', true],
    ['::ffff:10.0.0.1', '10.0.0.1', false],
  ])('%s and %s are two: %s', (first, second, areTwo) => {
    const rate = new AddressRate();
    for (let count = 0; count < 100; count++) rate.take(first, 0);
    expect(rate.take(second, 0)).toBe(areTwo);
  });
});
