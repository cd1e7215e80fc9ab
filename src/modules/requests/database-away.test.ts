import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../platform/database/migrate.js';
import { EmbeddedServer } from '../../platform/embedded-server/embedded-server.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { openRoomOn, type RequestsRoom } from '../../../test/support/requests-room.js';

const folder = tempFolder();
let server: EmbeddedServer;
let room: RequestsRoom;
beforeAll(async () => {
  server = await EmbeddedServer.start({ dataDir: folder.path });
  await migrate(server.url);
  room = await openRoomOn(server.url);
});
afterAll(async () => {
  await room?.close();
  await server?.stop('immediate');
  folder.remove();
});

test('without its database every operation answers 503 in the common shape, and goes on when it is back', async () => {
  await room.request('kept');
  await server.stop('immediate');
  for (const [method, path, body] of [
    ['GET', '/api/requests', undefined],
    ['GET', '/api/requests/request/kept/simple', undefined],
    ['POST', '/api/requests', { id: 'lost', requestType: 'SERVICE' }],
    ['POST', '/api/requests/request/kept/pause', undefined],
  ] as const) {
    expect(await room.call(method, path, body), path).toRefuse(503, 'UNAVAILABLE');
  }
  expect(await room.call('POST', '/api/requests', { id: 'a b' })).toRefuse(503, 'UNAVAILABLE');
  expect((await room.call('GET', '/api/nowhere')).status).toBe(404);

  server = await EmbeddedServer.start({ dataDir: folder.path });
  await waitFor('the service to answer again', async () => (await room.call('GET', '/api/requests')).status === 200);
  const { body } = await room.call('GET', '/api/requests/ids');
  expect(body).toEqual(['kept']);
});
