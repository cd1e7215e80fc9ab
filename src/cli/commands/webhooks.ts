import type { WebhookType } from 'muster-client';
import { CliError } from '../exit-codes.js';
import { readToken } from '../remote/address.js';
import { remote, type Session } from '../remote/session.js';
import { examples, type Run } from '../run.js';
import { age, shownTime } from '../words.js';
import type { Command } from 'commander';

/** Commands about webhooks and the updates that could not be delivered. */
export function webhooks(command: Command, run: Run): void {
  remote<object, []>(command.command('list', { isDefault: true }).description('list webhooks'), run, ({ api, out }) =>
    list(api, out),
  );

  const add = command
    .command('add')
    .description('send updates to an address')
    .argument('<type>', 'request, deploy, task, crashloop or elevated-access')
    .argument('<url>')
    .option('--secret <secret>', 'key for the signatures, or @file');
  remote<{ secret?: string }, [string, string]>(add, run, async ({ api, out }, { secret }, type, uri) => {
    const body = {
      type: type.toUpperCase().replaceAll('-', '_') as WebhookType,
      uri,
      ...(secret !== undefined && { secret: readToken(secret) }),
    };
    const done = await api.webhooks.register({ body });
    await out.answer({ result: done }, () => (done === 'CREATED' ? 'Registered' : 'Already registered'));
  });

  const remove = command
    .command('remove')
    .description('remove a webhook')
    .argument('<id>', 'id from muster webhooks list');
  remote<object, [string]>(remove, run, async ({ api, out }, _flags, webhookId) => {
    const done = await api.webhooks.remove({ webhookId });
    if (done === 'DIDNT_EXIST') throw new CliError('notFound', `No webhook with id '${webhookId}'`);
    await out.answer({ result: done }, () => 'Removed');
  });

  const dead = command.command('dead').description('list updates that could not be delivered, newest first');
  remote<object, []>(dead, run, async ({ api, out }) => {
    const all = await api.webhooks.deadLetters({ count: 100 });
    const rows = all.map((each) => [shownTime(each.eventAt), each.webhookId, each.attempts, each.lastError]);
    await out.answer(all, () => out.table(['WHEN', 'WEBHOOK', 'ATTEMPTS', 'WHY'], rows));
  });
  examples(
    command,
    'muster webhooks add deploy https://chat.example.com/hooks/deploys --secret @hook.key',
    'muster webhooks list',
    'muster webhooks dead',
    'muster webhooks remove DEPLOY-https%3A%2F%2Fchat.example.com%2Fhooks%2Fdeploys',
  );
}

async function list(api: Session['api'], out: Session['out']): Promise<void> {
  const all = await api.webhooks.summary({});
  const rows = all.map(({ webhook, queueSize }) => [
    webhook.id,
    webhook.type,
    webhook.uri,
    queueSize,
    webhook.timestamp === undefined ? '' : age(webhook.timestamp),
  ]);
  await out.answer(all, () => out.table(['WEBHOOK', 'TYPE', 'ADDRESS', 'WAITING', 'AGE'], rows));
}
