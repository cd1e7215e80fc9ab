import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertTask, start } from '../../../test/support/builders.js';
import { FileDriver, sandboxRoot } from '../../../test/support/file-driver.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { TasksModule } from './tasks.module.js';

const driver = new FileDriver();
let rooms: RoomApp;
let id: string;

beforeAll(async () => {
  rooms = await startRooms({ modules: [TasksModule], driver });
  const updates: [['TASK_RUNNING', number]] = [['TASK_RUNNING', start]];
  ({ id } = await insertTask(rooms.database.pool, { directory: 'known', updates }));
  driver.put(id, 'stdout', '0123456789');
  driver.put(id, 'logs/page.html', '<script>alert(1)</script>');
  driver.put(id, 'empty.txt', '');
  driver.put(id, 'big.bin', Buffer.alloc(3_000_000, 7));
});
afterAll(() => rooms.close());
beforeEach(() => driver.unreachable.clear());

const url = (kind: string, path: string, host = 'host-1') =>
  `${rooms.url}/api/tasks/${kind}?slaveHostname=${host}&path=${encodeURIComponent(path)}`;
const at = (file: string): string => `${sandboxRoot(id)}/${file}`;
const download = (file: string, init?: RequestInit) => fetch(url('download', at(file)), init);
const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code;
const lengthOf = (response: Response) => response.headers.get('content-length');

describe('download', () => {
  test('is an attachment of bytes', async () => {
    const response = await download('logs/page.html');
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('<script>alert(1)</script>');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename=page.html',
      'content-length': '25',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'last-modified': new Date(1_700_000_000_000).toUTCString(),
    });
  });

  test.each([
    { range: 'bytes=2-4', status: 206, text: '234', contentRange: 'bytes 2-4/10' },
    { range: 'bytes=7-', status: 206, text: '789', contentRange: 'bytes 7-9/10' },
    { range: 'bytes=-1', status: 206, text: '9', contentRange: 'bytes 9-9/10' },
    { range: 'bytes=0-1,5-6', status: 200, text: '0123456789', contentRange: null },
  ])('of the range $range', async ({ range, status, text, contentRange }) => {
    const response = await download('stdout', { headers: { range } });
    expect([response.status, await response.text()]).toEqual([status, text]);
    expect(response.headers.get('content-range')).toBe(contentRange);
    expect(lengthOf(response)).toBe(String(text.length));
  });

  test('of a range behind the end is 416 in the error shape', async () => {
    const response = await download('stdout', { headers: { range: 'bytes=10-' } });
    expect(response.status).toBe(416);
    expect(response.headers.get('content-range')).toBe('bytes */10');
    expect(await response.json()).toMatchObject({ status: 416, code: 'RANGE_NOT_SATISFIABLE' });
  });

  test('HEAD tells the length without the bytes', async () => {
    const response = await download('big.bin', { method: 'HEAD' });
    expect([response.status, lengthOf(response), await response.text()]).toEqual([200, '3000000', '']);
  });

  test('an unchanged file is not sent again, a changed one is', async () => {
    const etag = (await download('stdout')).headers.get('etag')!;
    // fetch would add no-cache, which asks for the file in any case.
    const unchanged = await download('stdout', { headers: { 'if-none-match': etag, 'cache-control': 'max-age=0' } });
    expect([unchanged.status, await unchanged.text()]).toEqual([304, '']);
    driver.put(id, 'stdout', '0123456789+');
    expect((await download('stdout', { headers: { 'if-none-match': etag } })).status).toBe(200);
    const rest = await download('stdout', { headers: { range: 'bytes=2-', 'if-range': etag } });
    expect([rest.status, await rest.text()]).toEqual([200, '0123456789+']);
    driver.put(id, 'stdout', '0123456789');
    const same = await download('stdout', { headers: { range: 'bytes=2-3', 'if-range': etag } });
    expect([same.status, await same.text()]).toEqual([206, '23']);
  });

  test('large and empty files arrive whole, not compressed', async () => {
    const big = await download('big.bin', { headers: { 'accept-encoding': 'gzip' } });
    expect(big.headers.get('content-encoding')).toBeNull();
    expect(Buffer.from(await big.arrayBuffer()).equals(Buffer.alloc(3_000_000, 7))).toBe(true);
    const empty = await download('empty.txt');
    expect([empty.status, lengthOf(empty), await empty.text()]).toEqual([200, '0', '']);
  });

  test('a file that shrinks meanwhile breaks the connection', async () => {
    const whole = driver.files.get(id)!.get('big.bin')!;
    let asked = 0;
    const files = driver.files.get(id)!;
    const get = files.get.bind(files);
    files.get = (name) => (name === 'big.bin' && ++asked > 1 ? whole.subarray(0, 1_000) : get(name));
    await expect(download('big.bin').then((response) => response.arrayBuffer())).rejects.toThrow(
      /terminated|fetch failed/,
    );
    files.get = get;
  });
});

describe('open', () => {
  test.each([
    { file: 'logs/page.html', type: 'text/html; charset=utf-8' },
    { file: 'empty.txt', type: 'text/plain; charset=utf-8' },
    { file: 'stdout', type: 'text/plain; charset=utf-8' },
    { file: 'big.bin', type: 'application/octet-stream' },
  ])('$file is shown as $type, without rights', async ({ file, type }) => {
    const response = await fetch(url('open', at(file)));
    await response.arrayBuffer();
    expect(response.headers.get('content-type')).toBe(type);
    expect(response.headers.get('content-disposition')).toBeNull();
    expect(response.headers.get('content-security-policy')).toBe('sandbox');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('what is not in a sandbox is not found', () => {
  test.each([
    { name: 'a file that is not there', path: () => at('nope') },
    { name: 'the sandbox itself', path: () => sandboxRoot(id) },
    { name: 'a file outside every sandbox', path: () => '/etc/passwd' },
    { name: 'a way out', path: () => at('../../../../etc/passwd') },
    { name: 'the sandbox of an unknown task', path: () => sandboxRoot('web-d1-1-1-host_1-rack_1') + '/stdout' },
    { name: 'a malformed percent sign', path: () => '/tasks/%E0%/x' },
    { name: 'the file of a task on another slave', path: () => at('stdout'), host: 'host-2' },
  ])('$name', async ({ path, host }) => {
    for (const kind of ['download', 'open']) {
      const response = await fetch(url(kind, path(), host));
      expect([response.status, await codeOf(response)]).toEqual([404, 'FILE_NOT_FOUND']);
      expect(response.headers.get('content-type')).toContain('application/json');
    }
  });

  test('an offline slave is named', async () => {
    driver.unreachable.add('s1');
    const response = await download('stdout');
    expect([response.status, await codeOf(response)]).toEqual([404, 'MACHINE_NOT_FOUND']);
  });

  test.each(['', '?slaveHostname=host-1', '?path=/x'])('both parameters are needed: %s', async (query) => {
    expect((await fetch(`${rooms.url}/api/tasks/download${query}`)).status).toBe(400);
  });
});
