import type { ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';
import { afterEach, expect, test, vi } from 'vitest';
import { makeRequest } from '../../test/support/builders.js';
import { startReceiver } from '../../test/support/http-receiver.js';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
import { testSettings } from '../../test/support/test-settings.js';
import { waitFor } from '../../test/support/wait-for.js';
import { ShellCommandPoller } from '../modules/tasks/shell-commands/shell-command.poller.js';
import { ShellCommands } from '../modules/tasks/shell-commands/shell-commands.service.js';
import { ShellCommandsModule } from '../modules/tasks/shell-commands/shell-commands.module.js';
import { WebhookDelivery } from '../modules/webhooks/webhook-delivery.poller.js';
import { WebhookOutboxRepository } from '../modules/webhooks/webhook-outbox.repository.js';
import { WebhooksModule } from '../modules/webhooks/webhooks.module.js';
import { Leadership } from '../platform/leadership/leadership.js';

const many = 20;
let close = async (): Promise<void> => undefined;
afterEach(async () => {
  vi.restoreAllMocks();
  await close();
});

test('what a term had under way when it ends is a line for each kind: launches, kills, commands, deliveries', async () => {
  const { ui } = testSettings();
  const world = await SchedulerWorld.start({
    machines: many,
    modules: [ShellCommandsModule, WebhooksModule],
    settings: { ui: { ...ui, shellCommands: [{ name: 'jstack', description: '', options: [] }] } },
  });
  const receiver = await startReceiver();
  close = async () => {
    await receiver.close();
    await world.close();
  };
  await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: many, slavePlacement: 'SEPARATE' });
  await world.run(2);
  const tasks = (await world.active()).map(({ taskId }) => taskId.id);
  expect(tasks).toHaveLength(many);
  await world.query(`INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ('w', $1, 'REQUEST', now())`, [
    receiver.url,
  ]);

  // All are answered when the term is over.
  const underWay = { launch: 0, kill: 0, runCommand: 0 };
  let release = (): void => undefined;
  const isOver = new Promise<void>((resolve) => (release = resolve));
  for (const name of ['launch', 'kill', 'runCommand'] as const) {
    const real = (world.driver[name] as (...given: unknown[]) => Promise<unknown>).bind(world.driver);
    const late = async (...given: unknown[]) => {
      underWay[name] += 1;
      const answer = await real(...given);
      await isOver;
      return answer;
    };
    Object.assign(world.driver, { [name]: late });
  }
  const deliveries: ServerResponse[] = [];
  receiver.answer = (_call, response) => void deliveries.push(response);

  await world.db.transaction(async (tx) => {
    for (let n = 0; n < many; n++) {
      const request = makeRequest({ id: `r${n}` });
      const event = { request, createdAt: world.now, eventType: 'UPDATED', message: '' } as const;
      await world.get(WebhookOutboxRepository).request(tx, event);
    }
  });
  for (const taskId of tasks) {
    await world.get(ShellCommands).run(taskId, { name: 'jstack' }, { id: 'ann' });
    await world.kill(taskId);
  }
  await world.deployed({ id: 'other', requestType: 'SERVICE', instances: many, slavePlacement: 'SEPARATE' });
  await world.scheduler.runOnce(world.now);
  await world.dispatch.runOnce(world.now);
  await world.get(ShellCommandPoller).runOnce();
  await world.get(WebhookDelivery).runOnce(world.now);
  await waitFor('all to be under way', () => deliveries.length === many);
  expect(underWay).toEqual({ launch: many, kill: many, runCommand: many });

  const lines: string[] = [];
  for (const level of ['warn', 'error'] as const)
    vi.spyOn(Logger.prototype, level).mockImplementation((line: string) => void lines.push(line));
  (world.get(Leadership) as { stepDown: (reason: string) => void }).stepDown('its lease is lost');
  release();
  for (const response of deliveries) response.writeHead(200).end();
  await world.settled();
  await world.get(ShellCommandPoller).settled();
  await world.get(WebhookDelivery).settled();
  await waitFor('the lines', () => lines.length >= 4);
  expect(lines.toSorted().map((line) => line.replace(/ '.*|,.*| are.*/, ''))).toEqual([
    '1 launches',
    'A delivery to a webhook stopped',
    'Command',
    'The kill of task',
  ]);
  for (const line of lines) expect(line).toContain(`(and ${many - 1} more like it)`);
});
