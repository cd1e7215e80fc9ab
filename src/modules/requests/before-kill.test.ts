import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testSettings } from '../../../test/support/test-settings.js';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';

const { ui } = testSettings();
const shellCommands = [{ name: 'jstack', description: '', options: [{ name: 'all', description: '' }] }];
let room: RequestsRoom;
beforeAll(async () => {
  room = await openRequestsRoom({ ui: { ...ui, shellCommands } });
  await room.slaves(4);
});
afterAll(() => room.close());

const orders = async (id: string) =>
  (
    await room.sql('SELECT run_shell_command_before_kill AS command FROM request_cleanup WHERE request_id = $1', [id])
  ).map((row) => row['command']);

let count = 0;
/** A request with a deploy in use. */
async function serving(): Promise<string> {
  const id = `r${++count}`;
  await room.request(id);
  await room.deploy(id);
  return id;
}

describe.each(['bounce', 'pause'])('a command before the kills of a %s', (action) => {
  const ask = (id: string, runShellCommandBeforeKill: object) =>
    room.call('POST', `/api/requests/request/${id}/${action}`, { runShellCommandBeforeKill });
  const command = { name: 'jstack', options: ['all'], logfileName: 'before' };

  test('stands in its order, as it was sent', async () => {
    const id = await serving();
    expect((await ask(id, command)).status).toBe(200);
    expect(await orders(id)).toEqual([command]);
    const cleanups = await room.list('/api/requests/queued/cleanup');
    expect(cleanups.find(({ requestId }) => requestId === id)).toMatchObject({ runShellCommandBeforeKill: command });
  });

  test.each([
    { what: 'a command that is not configured', sent: { name: 'rm' }, status: 403, field: 'name' },
    { what: 'an option that is not', sent: { name: 'jstack', options: ['x'] }, status: 400, field: 'options.0' },
    { what: 'no name', sent: {}, status: 400, field: 'name' },
  ])('is refused with $status for $what', async ({ sent, status, field }) => {
    const id = await serving();
    const answer = await ask(id, sent);
    expect(answer).toMatchObject({ status, body: { errors: [{ field: `runShellCommandBeforeKill.${field}` }] } });
    expect(await orders(id)).toEqual([]);
  });
});
