import { muster } from '../../api';
import { openAction, type Action } from '../../actions/action';
import { Heading } from '../../ui/heading';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';

const outdates = [['mail']];

const subscribe: Action = {
  id: 'subscribe',
  label: 'Subscribe',
  explains: 'The address is sent mail about what concerns it, and is taken off those that want none.',
  fields: [{ kind: 'text', name: 'address', label: 'Address' }],
  run: (values) => muster.notifications.subscribe({ body: values.text('address') ?? '' }),
  done: 'Subscribed',
  outdates,
};

const unsubscribe = (address?: string): Action => ({
  id: 'unsubscribe',
  label: 'Unsubscribe',
  explains: `${address ?? 'The address'} is sent no mail any more.`,
  fields: address === undefined ? [{ kind: 'text', name: 'address', label: 'Address' }] : [],
  run: (values) => muster.notifications.unsubscribe({ body: address ?? values.text('address') ?? '' }),
  done: 'Unsubscribed',
  outdates,
  ...(address !== undefined && {
    undo: { label: 'Subscribe again', run: () => muster.notifications.subscribe({ body: address }) },
  }),
});

const resubscribe = (address: string): Action => ({
  ...subscribe,
  explains: `${address} is sent mail again about what concerns it.`,
  fields: [],
  run: () => muster.notifications.subscribe({ body: address }),
});

const columnsWith = (action: (address: string) => Action): readonly Column<string>[] => [
  { id: 'address', title: 'Address', value: (address) => address, cell: (address) => address },
  {
    id: 'do',
    title: '',
    cell: (address) => (
      <button type="button" className="quiet" onClick={() => openAction.set(action(address))}>
        {action(address).label}
      </button>
    ),
  },
];

const subscribed = columnsWith(unsubscribe);
const unwanted = columnsWith(resubscribe);

/** Who has subscribed to mail, and who wants none. Who is sent what by itself stands in the settings. */
export function Page() {
  const allowed = useRead(['mail', 'allowlist'], () => muster.notifications.allowlist({}));
  const blocked = useRead(['mail', 'blocklist'], () => muster.notifications.blocklist({}));
  const table = (label: string, columns: readonly Column<string>[], empty: string) => (rows: readonly string[]) => (
    <Table label={label} rows={rows} columns={columns} keyOf={(address) => address} empty={empty} />
  );
  return (
    <>
      <div className="head">
        <Heading>Mail</Heading>
        <span className="grow" />
        <button type="button" onClick={() => openAction.set(unsubscribe())}>
          Unsubscribe
        </button>
        <button type="button" className="primary" onClick={() => openAction.set(subscribe)}>
          Subscribe
        </button>
      </div>
      <h2>Subscribed</h2>
      <Panel of={allowed}>{table('Subscribed', subscribed, 'Nobody has subscribed.')}</Panel>
      <h2>Want no mail</h2>
      <Panel of={blocked}>{table('Want no mail', unwanted, 'Nobody has unsubscribed.')}</Panel>
    </>
  );
}
