import type { TokenInfo, TokenResponse } from 'muster-client';
import { useState } from 'react';
import { muster } from '../../api';
import { openAction, type Action } from '../../actions/action';
import { copy } from '../../ui/copy';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { Heading } from '../../ui/heading';

const outdates = [['tokens']];

const make = (show: (made: TokenResponse) => void): Action => ({
  id: 'make-token',
  label: 'Make a token',
  explains: 'The text of the token is shown only once. The token belongs to the user, with these groups.',
  fields: [
    { kind: 'text', name: 'user', label: 'User', help: 'Empty: yourself' },
    { kind: 'text', name: 'email', label: 'Mail address' },
    { kind: 'lines', name: 'groups', label: 'Groups, one a line' },
    { kind: 'text', name: 'name', label: 'Name of the token', help: 'Beside others of the same user' },
    { kind: 'duration', name: 'ends', label: 'Ends after', help: 'Such as 30d; empty: the default of the settings' },
  ],
  run: (values) => {
    const user = values.text('user');
    const ends = values.number('ends');
    return muster.auth.createToken({
      body: {
        ...(values.text('name') !== undefined && { name: values.text('name') }),
        ...(ends !== undefined && { expiresAt: Date.now() + ends }),
        ...(user !== undefined && { user: { id: user, email: values.text('email'), groups: values.lines('groups') } }),
      },
    });
  },
  done: 'The token is made',
  outdates,
  afterwards: (answer) => show(answer as TokenResponse),
});

const revoke = (token: TokenInfo): Action => ({
  id: 'revoke-token',
  label: 'Revoke',
  isDangerous: true,
  explains: `The token ${token.name ?? token.id} of ${token.userName} is no longer valid.`,
  fields: [],
  run: () => muster.auth.revokeToken({ tokenId: token.id }),
  done: 'The token is revoked',
  outdates,
});

const columns: readonly Column<TokenInfo>[] = [
  { id: 'user', title: 'User', value: ({ userName }) => userName, cell: ({ userName }) => userName },
  {
    id: 'name',
    title: 'Name',
    value: ({ name }) => name ?? '',
    cell: ({ name, id }) => name ?? <span className="faint">{id}</span>,
  },
  {
    id: 'made',
    title: 'Made',
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt, madeBy }) => (
      <>
        <Time at={createdAt} /> {madeBy}
      </>
    ),
  },
  { id: 'ends', title: 'Ends', value: ({ expiresAt }) => expiresAt, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  {
    id: 'used',
    title: 'Last used',
    value: ({ lastUsedAt }) => lastUsedAt ?? 0,
    cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
  },
  {
    id: 'do',
    title: '',
    cell: (token) => (
      <button type="button" className="quiet" onClick={() => openAction.set(revoke(token))}>
        Revoke
      </button>
    ),
  },
];

export function Page() {
  const [all, setAll] = useState(false);
  const [made, setMade] = useState<TokenResponse>();
  const read = useRead(['tokens', all], () => muster.auth.listTokens(all ? { all: true } : {}));
  return (
    <>
      <div className="head">
        <Heading>Tokens</Heading>
        <label className="check">
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} /> Of all users
        </label>
        <span className="grow" />
        <button type="button" className="primary" onClick={() => openAction.set(make(setMade))}>
          Make a token
        </button>
      </div>
      {made && (
        <p className="notice" role="status">
          The token of {made.user.id}: <code>{made.token}</code>{' '}
          <button type="button" onClick={() => void copy(made.token, 'The token')}>
            Copy
          </button>{' '}
          It is not shown again.
        </p>
      )}
      <Panel of={read}>
        {(tokens) => (
          <Table label="Tokens" rows={tokens} columns={columns} keyOf={({ id }) => id} empty="There are none." />
        )}
      </Panel>
    </>
  );
}
