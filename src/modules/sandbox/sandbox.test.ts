import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { insertTask, start } from '../../../test/support/builders.js';
import { FileDriver, sandboxRoot } from '../../../test/support/file-driver.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { TaskHistoryMoveRepository } from '../history/task-history-move.repository.js';
import { ErrorDto } from '../../platform/http/error.dto.js';
import { SandboxModule } from './sandbox.module.js';
import type { SandboxListing } from './sandbox.service.js';

const driver = new FileDriver();
let rooms: RoomApp;
let id: string;

beforeAll(async () => {
  rooms = await startRooms({
    modules: [SandboxModule],
    driver,
    settings: { sandboxHttpTimeoutMillis: 200 },
  });
  const updates = [['TASK_RUNNING', start]] as [['TASK_RUNNING', number]];
  ({ id } = await insertTask(rooms.database.pool, { directory: 'known', updates }));
  driver.put(id, 'stdout', 'one\ntwo\nthree\n');
  driver.put(id, 'umlauts', 'äöü');
  driver.put(id, 'big', 'x'.repeat(100_000));
  driver.put(id, 'logs/service.log', 'hello');
  driver.put(id, 'logs/a.log', '');
  driver.put(id, 'growing', Buffer.from('a€').subarray(0, 3));
});
afterAll(() => rooms.close());
beforeEach(() => driver.unreachable.clear());

type Browsed = SandboxListing & ErrorDto;
const browse = (query = '', taskId = id) => rooms.get<Browsed>(`/api/sandbox/${taskId}/browse${query}`);
const read = (query: string, taskId = id) => rooms.get<ErrorDto>(`/api/sandbox/${taskId}/read${query}`);

describe('browse', () => {
  test('lists the sandbox by name', async () => {
    const { status, body } = await browse();
    expect(status).toBe(200);
    expect(body).toMatchObject({ fullPathToRoot: sandboxRoot(id), currentDirectory: '', slaveHostname: 'host-1' });
    expect(body.files.map((file) => file.name)).toEqual(['big', 'growing', 'logs', 'stdout', 'umlauts']);
    expect(body.files[2]).toEqual({ name: 'logs', mtime: 1_700_000_000, size: 4096, mode: 'drwxr-xr-x' });
  });

  test.each(['?path=logs', '?path=logs/', '?path=/logs', '?path=./logs//'])('%s is the folder logs', async (query) => {
    const { body } = await browse(query);
    expect(body.currentDirectory).toBe('logs');
    expect(body.files.map((file) => file.name)).toEqual(['a.log', 'service.log']);
  });

  test.each([
    { path: '', currentDirectory: '', first: 'big' },
    { path: '/', currentDirectory: '', first: 'big' },
    { path: '/logs', currentDirectory: 'logs', first: 'a.log' },
  ])('the id of the task and then $path is below the sandbox itself', async ({ path, currentDirectory, first }) => {
    const { body } = await browse(`?path=${id}${path}`);
    expect(body).toMatchObject({ fullPathToRoot: sandboxRoot(id), currentDirectory });
    expect(body.files[0]?.name).toBe(first);
  });

  test('the id of the task is the folder of that name where there is one', async () => {
    const updates = [['TASK_RUNNING', start]] as [['TASK_RUNNING', number]];
    const { id: own } = await insertTask(rooms.database.pool, { instanceNo: 9, directory: 'known', updates });
    driver.put(own, 'stdout', 'outer');
    driver.put(own, `${own}/stdout`, 'inner');
    expect((await browse(`?path=${own}`, own)).body).toMatchObject({ currentDirectory: own, files: [{ size: 5 }] });
    expect((await read(`?path=${own}/stdout&offset=0`, own)).body).toMatchObject({ data: 'inner' });
  });

  test('a folder that is not there is empty', async () => {
    expect(await browse('?path=nowhere')).toMatchObject({ status: 200, body: { files: [] } });
  });

  test.each(['?path=..', '?path=logs/../../etc'])('%s leads outside', async (query) => {
    expect(await browse(query)).toMatchObject({ status: 404, body: { code: 'FILE_NOT_FOUND' } });
  });
});

describe('read', () => {
  test.each([
    { query: '?path=stdout&offset=4&length=4', data: 'two\n', offset: 4, nextOffset: 8 },
    { query: '?path=stdout&offset=4', data: 'two\nthree\n', offset: 4, nextOffset: 14 },
    { query: '?path=stdout&offset=0&length=-1', data: 'one\ntwo\nthree\n', offset: 0, nextOffset: 14 },
    { query: '?path=stdout', data: 'one\ntwo\nthree\n', offset: 0, nextOffset: 14 },
    { query: '?path=stdout&length=4', data: 'one\n', offset: 0, nextOffset: 4 },
    { query: '?path=stdout&offset=-1', data: '', offset: 14, nextOffset: 14 },
    { query: '?path=stdout&length=0', data: '', offset: 14, nextOffset: 14 },
    { query: '?path=stdout&offset=0&length=0&grep=', data: '', offset: 14, nextOffset: 14 },
    { query: '?path=stdout&offset=14&length=10', data: '', offset: 14, nextOffset: 14 },
    { query: '?path=stdout&offset=99', data: '', offset: 14, nextOffset: 14 },
    { query: '?path=stdout&offset=0&grep=t', data: 'two\nthree\n', offset: 0, nextOffset: 14 },
    { query: '?path=umlauts&offset=1&length=4', data: 'ö', offset: 2, nextOffset: 4 },
    { query: '?path=logs/a.log&offset=0', data: '', offset: 0, nextOffset: 0 },
    { query: '?path=growing&offset=0', data: 'a', offset: 0, nextOffset: 1 },
    { query: '?path=growing&offset=1', data: '', offset: 1, nextOffset: 1 },
  ])('$query', async ({ query, ...chunk }) => {
    expect(await read(query)).toMatchObject({ status: 200, body: chunk });
  });

  test('of clients of version 1.5 without an offset answers how long the file is, and with one what is there', async () => {
    const settings = { compatibility: '1.5' as const };
    const older = await startRooms({ modules: [SandboxModule], driver, settings, databaseUrl: rooms.databaseUrl });
    onTestFinished(() => older.close());
    const of = async (query: string) => (await older.get(`/api/sandbox/${id}/read?path=stdout${query}`)).body;
    expect(await of('')).toMatchObject({ data: '', offset: 14 });
    expect(await of('&offset=0')).toMatchObject({ data: 'one\ntwo\nthree\n', offset: 0 });
  });

  test('the id of the task at the begin of a path is the sandbox itself', async () => {
    expect((await read(`?path=${id}/stdout&offset=4&length=4`)).body).toMatchObject({ data: 'two\n', offset: 4 });
    expect((await read(`?path=/${id}/logs/service.log&offset=-1`)).body).toMatchObject({ data: '', offset: 5 });
    expect(await read(`?path=${id}/logs`)).toMatchObject({ status: 400, body: { errors: [{ rule: 'file' }] } });
    expect(await read(`?path=${id}/${id}/stdout`)).toMatchObject({ status: 404, body: { code: 'FILE_NOT_FOUND' } });
    expect(await read(`?path=${id}/../stdout`)).toMatchObject({ status: 404, body: { code: 'FILE_NOT_FOUND' } });
  });

  test('one call answers at most 65536 bytes', async () => {
    const { body } = await read('?path=big&offset=10&length=90000');
    expect(body).toEqual({ data: 'x'.repeat(65_536), offset: 10, nextOffset: 65_546 });
  });

  test.each([
    { query: '', field: 'path', rule: 'required' },
    { query: '?path=', field: 'path', rule: 'required' },
    { query: '?path=stdout&offset=-2', field: 'offset', rule: 'min' },
    { query: '?path=stdout&length=-2', field: 'length', rule: 'min' },
    { query: '?path=stdout&offset=abc', field: 'offset', rule: 'integer' },
    { query: '?path=stdout&offset=0&grep=(', field: 'grep', rule: 'pattern' },
    { query: '?path=logs', field: 'path', rule: 'file' },
  ])('$query is refused for $field', async ({ query, field, rule }) => {
    expect(await read(query)).toMatchObject({ status: 400, body: { errors: [{ field, rule }] } });
  });

  test.each(['?path=nowhere', '?path=../stdout', '?path=nowhere&offset=0'])('%s is not there', async (query) => {
    const answer = await read(query);
    expect(answer).toMatchObject({ status: 404, body: { code: 'FILE_NOT_FOUND' } });
    expect(answer.body.message).toContain(id);
  });
});

describe('which task', () => {
  test('an id that cannot be read is refused', async () => {
    expect(await browse('', 'nope')).toMatchObject({ status: 400, body: { errors: [{ field: 'taskId' }] } });
  });

  test('an unknown one is not found', async () => {
    expect(await browse('', 'web-d1-1-1-host-rack')).toMatchObject({ status: 404, body: { code: 'TASK_NOT_FOUND' } });
  });

  test('one without a directory is not ready', async () => {
    const { id: young } = await insertTask(rooms.database.pool, { instanceNo: 2 });
    expect(await browse('', young)).toMatchObject({ status: 400, body: { code: 'SANDBOX_NOT_READY' } });
  });

  test('an offline machine is named', async () => {
    driver.unreachable.add('s1');
    const { status, body } = await browse();
    expect([status, body.code]).toEqual([404, 'MACHINE_NOT_FOUND']);
    expect(body.message).toMatch(/'s1'.*probably offline/);
  });

  test('a machine that does not answer in time counts as offline', async () => {
    const { sandbox } = driver;
    driver.sandbox = () => new Promise(() => undefined);
    try {
      expect(await browse()).toMatchObject({ status: 404, body: { code: 'MACHINE_NOT_FOUND' } });
    } finally {
      driver.sandbox = sandbox;
    }
  });

  test('an ended one can be read while its machine has the files', async () => {
    const updates: [['TASK_FINISHED', number]] = [['TASK_FINISHED', start + 1]];
    const { id: ended } = await insertTask(rooms.database.pool, { instanceNo: 3, directory: 'known', updates });
    driver.put(ended, 'stdout', 'done');
    const writer = rooms.app.get(TaskHistoryMoveRepository);
    expect(await rooms.database.leaderTransaction((tx) => writer.move(tx, [ended]))).toEqual([ended]);
    expect(await read('?path=stdout&offset=0', ended)).toMatchObject({ status: 200, body: { data: 'done' } });
    driver.files.delete(ended);
    expect(await browse('', ended)).toMatchObject({ status: 404, body: { code: 'TASK_NOT_FOUND' } });
  });
});
