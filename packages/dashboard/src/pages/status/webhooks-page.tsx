import { enumerations, type DeadLetter, type Webhook, type WebhookSummary } from 'muster-client';
import { muster } from '../../api';
import type { Action } from '../../actions/action';
import { ActionButton } from '../../actions/action-button';
import { Mark } from '../../ui/badge';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { toast } from '../../ui/toasts';
import { inWords } from '../../ui/words';
import { Heading } from '../../ui/heading';

const common = { needs: 'administrator', outdates: [['webhooks']] } as const;

const add: Action = {
  id: 'add-webhook',
  label: 'Add a webhook',
  explains: 'Each event of this type is sent to the address as it happens.',
  fields: [
    { kind: 'text', name: 'uri', label: 'Address' },
    {
      kind: 'choice',
      name: 'type',
      label: 'What is sent',
      initial: enumerations.WebhookType[0],
      choices: enumerations.WebhookType.map((type) => [type, inWords(type)] as const),
    },
    { kind: 'text', name: 'user', label: 'User' },
  ],
  run: (values) =>
    muster.webhooks.register({
      body: {
        uri: values.text('uri') ?? '',
        type: values.text('type') as Webhook['type'],
        ...(values.text('user') !== undefined && { user: values.text('user') }),
      },
    }),
  done: 'The webhook is there',
  ...common,
};

const remove = (id: string, uri: string): Action => ({
  id: 'remove-webhook',
  label: 'Remove',
  isDangerous: true,
  explains: `No more updates are sent to ${uri}, and waiting updates are dropped.`,
  fields: [],
  run: () => muster.webhooks.remove({ webhookId: id }),
  done: 'The webhook is removed',
  ...common,
});

const test = (id: string, uri: string): Action => ({
  id: 'test-webhook',
  label: 'Send a test',
  explains: `One test event is sent to ${uri}.`,
  fields: [],
  run: () => muster.webhooks.test({ webhookId: id }),
  done: 'A test was sent',
  ...common,
  afterwards: (answer) => {
    const { delivered, error } = answer as { delivered: boolean; error?: string };
    toast.add({
      title: delivered ? 'It was taken' : 'It was not taken',
      ...(error !== undefined && { description: error }),
    });
  },
});

/** Ids of webhooks have their type and their address, as a part of a path. */
function decoded(webhookId: string): string {
  try {
    return decodeURIComponent(webhookId);
  } catch {
    return webhookId;
  }
}

const resend = (webhookId: string, ids: readonly number[] | undefined): Action => ({
  id: 'resend',
  label: ids === undefined ? 'Send all again' : 'Send again',
  explains: 'Undelivered updates are queued again.',
  fields: [],
  run: () => muster.webhooks.resend({ webhookId, ...(ids !== undefined && { id: [...ids] }) }),
  done: 'It is sent again',
  ...common,
});

const idOf = ({ webhook }: WebhookSummary): string => webhook.id ?? webhook.uri;

const columns: readonly Column<WebhookSummary>[] = [
  {
    id: 'uri',
    title: 'Address',
    value: ({ webhook }) => webhook.uri,
    cell: ({ webhook }) => <code>{webhook.uri}</code>,
  },
  { id: 'type', title: 'What', value: ({ webhook }) => webhook.type, cell: ({ webhook }) => inWords(webhook.type) },
  {
    id: 'at',
    title: 'Since',
    value: ({ webhook }) => webhook.timestamp ?? 0,
    cell: ({ webhook }) => <Time at={webhook.timestamp} />,
  },
  { id: 'user', title: 'By', cell: ({ webhook }) => webhook.user ?? '' },
  {
    id: 'queue',
    title: 'Waiting',
    align: 'end',
    value: ({ queueSize }) => queueSize,
    cell: ({ queueSize }) => queueSize,
  },
  {
    id: 'last',
    title: 'Last delivery',
    cell: ({ lastResult }) =>
      lastResult ? (
        <>
          <Mark tone={lastResult.delivered ? 'good' : 'bad'}>
            {lastResult.delivered ? 'taken' : (lastResult.error ?? 'failed')}
          </Mark>{' '}
          <Time at={lastResult.at} />
        </>
      ) : (
        '–'
      ),
  },
  {
    id: 'do',
    title: '',
    cell: (row) => (
      <>
        <ActionButton className="quiet" action={test(idOf(row), row.webhook.uri)} label="Test" />
        <ActionButton className="quiet" action={remove(idOf(row), row.webhook.uri)} />
      </>
    ),
  },
];

const letterColumns: readonly Column<DeadLetter>[] = [
  {
    id: 'webhook',
    title: 'Webhook',
    value: ({ webhookId }) => webhookId,
    cell: ({ webhookId }) => <code>{decoded(webhookId)}</code>,
  },
  { id: 'event', title: 'Happened', value: ({ eventAt }) => eventAt, cell: ({ eventAt }) => <Time at={eventAt} /> },
  { id: 'dead', title: 'Given up', value: ({ deadAt }) => deadAt, cell: ({ deadAt }) => <Time at={deadAt} /> },
  { id: 'tries', title: 'Tries', align: 'end', value: ({ attempts }) => attempts, cell: ({ attempts }) => attempts },
  { id: 'error', title: 'Last error', cell: ({ lastError }) => lastError ?? '' },
  {
    id: 'body',
    title: 'What was sent',
    cell: ({ body }) => (
      <details>
        <summary>Body</summary>
        <pre className="document">{JSON.stringify(body, null, 2)}</pre>
      </details>
    ),
  },
  {
    id: 'do',
    title: '',
    cell: ({ webhookId, id }) => <ActionButton className="quiet" action={resend(webhookId, [id])} />,
  },
];

export function Page() {
  const read = useRead(['webhooks', 'summary'], () => muster.webhooks.summary({}), { everyMs: 10_000 });
  const letters = useRead(['webhooks', 'dead'], () => muster.webhooks.deadLetters({ count: 100 }), { everyMs: 10_000 });
  return (
    <>
      <div className="head">
        <Heading>Webhooks</Heading>
        <span className="grow" />
        <ActionButton className="primary" action={add} />
      </div>
      <Panel of={read}>
        {(hooks) => (
          <Table label="Webhooks" rows={hooks} columns={columns} keyOf={idOf} empty="There are no webhooks." />
        )}
      </Panel>
      <h2>Not delivered</h2>
      <Panel of={letters}>
        {(dead) => (
          <>
            {[...new Set(dead.map(({ webhookId }) => webhookId))].map((webhookId) => (
              <ActionButton
                key={webhookId}
                action={resend(webhookId, undefined)}
                label={`Send all of ${decoded(webhookId)} again`}
              />
            ))}
            <Table
              label="Not delivered"
              rows={dead}
              columns={letterColumns}
              keyOf={({ id }) => String(id)}
              empty="Everything was delivered."
            />
          </>
        )}
      </Panel>
    </>
  );
}
