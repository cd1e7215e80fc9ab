import { enumerations, type DisabledAction, type DisasterDataPoint } from 'muster-client';
import { muster, orNone } from '../../api';
import { message, type Action } from '../../actions/action';
import { ActionButton } from '../../actions/action-button';
import { Mark } from '../../ui/badge';
import { formatDuration } from '../../ui/duration';
import { Panel, useRead } from '../../ui/read';
import { Sparkline } from '../../ui/sparkline';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { inWords } from '../../ui/words';
import { Heading } from '../../ui/heading';

type DisasterType = (typeof enumerations.DisasterType)[number];

const common = { needs: 'administrator', outdates: [['disasters'], ['state']] } as const;

const setDisaster = (type: DisasterType, on: boolean): Action => ({
  id: 'disaster',
  label: on ? 'Activate' : 'Deactivate',
  isDangerous: on,
  explains: on ? `Switches off what the settings name for ${inWords(type)}.` : `${inWords(type)} is over.`,
  fields: [],
  ...(on && { typed: type }),
  run: () => (on ? muster.disasters.activate({ type }) : muster.disasters.deactivate({ type })),
  done: 'Done',
  ...common,
});

const setAutomated = (on: boolean): Action => ({
  id: 'automated',
  label: on ? 'Switch on' : 'Switch off',
  explains: on ? 'Disasters that are detected switch actions off.' : 'Disasters that are detected switch nothing off.',
  fields: [],
  run: () => (on ? muster.disasters.enableAutomatedActions({}) : muster.disasters.disableAutomatedActions({})),
  done: 'Done',
  ...common,
});

const disable: Action = {
  id: 'disable',
  label: 'Switch an action off',
  explains: 'The action is disabled for everyone until it is enabled again; calls are refused with this message.',
  fields: [
    {
      kind: 'choice',
      name: 'action',
      label: 'Action',
      initial: enumerations.ActionType[0],
      choices: enumerations.ActionType.map((type) => [type, inWords(type)] as const),
    },
    message,
    {
      kind: 'lines',
      name: 'exceptGroups',
      label: 'Except for requests of these groups, one a line',
      help: 'Only for deploy; empty: for none',
    },
  ],
  run: (values) => {
    const exceptGroups = values.lines('exceptGroups').map((line) => line.trim());
    return muster.disasters.disableAction({
      action: values.text('action') as DisabledAction['type'],
      body: { message: values.text('message'), ...(exceptGroups.length > 0 && { exceptGroups }) },
    });
  },
  done: 'It is switched off',
  ...common,
};

const enable = (type: DisabledAction['type']): Action => ({
  id: 'enable',
  label: 'Switch on',
  explains: `${inWords(type)} is enabled again.`,
  fields: [],
  run: () => muster.disasters.enableAction({ action: type }),
  done: 'It is switched on',
  ...common,
});

const freeze: Action = {
  id: 'priority-freeze',
  label: 'Freeze priorities',
  isDangerous: true,
  explains: 'No task below this priority is started.',
  fields: [
    { kind: 'number', name: 'level', label: 'Least priority', initial: 0.5, min: 0, max: 1, step: 0.01 },
    { kind: 'check', name: 'kill', label: 'Kill running tasks below it, too', initial: false },
    message,
  ],
  run: (values) =>
    muster.priority.freeze({
      body: {
        minimumPriorityLevel: values.number('level') ?? 0.5,
        killTasks: values.isSet('kill'),
        message: values.text('message'),
      },
    }),
  done: 'Priorities are frozen',
  ...common,
};

const endFreeze: Action = {
  id: 'end-freeze',
  label: 'End the freeze',
  explains: 'Tasks of any priority are started.',
  fields: [],
  run: () => muster.priority.end({}),
  done: 'The freeze is over',
  ...common,
};

const failOver: Action = {
  id: 'fail-over',
  label: 'Fail over',
  isDangerous: true,
  explains: 'The instance that leads stops; another one takes over.',
  fields: [],
  typed: 'failover',
  run: () => muster.disasters.failOver({}),
  done: 'The leader stops',
  ...common,
};

const actionColumns: readonly Column<DisabledAction>[] = [
  { id: 'type', title: 'Action', value: ({ type }) => type, cell: ({ type }) => inWords(type) },
  { id: 'message', title: 'Message', cell: ({ message: text }) => text },
  { id: 'except', title: 'Except for groups', cell: ({ exceptGroups }) => exceptGroups?.join(', ') },
  {
    id: 'user',
    title: 'By',
    cell: ({ user, automaticallyClearable }) => user ?? (automaticallyClearable ? 'a disaster' : ''),
  },
  { id: 'ends', title: 'Ends', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  {
    id: 'do',
    title: '',
    cell: ({ type }) => <ActionButton className="quiet" action={enable(type)} />,
  },
];

export function Page() {
  const stats = useRead(['disasters', 'stats'], () => muster.disasters.stats({}), { everyMs: 10_000 });
  const disabled = useRead(['disasters', 'list'], () => muster.disasters.disabledActions({}), { everyMs: 30_000 });
  const frozen = useRead(['disasters', 'freeze'], () => orNone(muster.priority.get({})), { everyMs: 30_000 });
  return (
    <>
      <div className="head">
        <Heading>Disasters</Heading>
        <span className="grow" />
        <ActionButton className="danger" action={failOver} />
      </div>
      <Panel of={stats}>
        {({ disasters, automatedActionsDisabled, stats: points }) => (
          <>
            <ul className="facts">
              {disasters.map(({ type, active }) => (
                <li key={type}>
                  <Mark tone={active ? 'bad' : 'off'}>
                    {inWords(type)}: {active ? 'active' : 'not active'}
                  </Mark>{' '}
                  <ActionButton action={setDisaster(type, !active)} />
                </li>
              ))}
            </ul>
            <p>
              Automated actions are {automatedActionsDisabled ? 'off' : 'on'}.{' '}
              <ActionButton action={setAutomated(automatedActionsDisabled)} />
            </p>
            <Points points={points} />
          </>
        )}
      </Panel>
      <h2>Priority freeze</h2>
      <Panel of={frozen}>
        {(freezeNow) =>
          freezeNow === null ? (
            <p>
              None. <ActionButton action={freeze} />
            </p>
          ) : (
            <p className="notice warn">
              Nothing below {freezeNow.priorityFreeze.minimumPriorityLevel} is started
              {freezeNow.priorityFreeze.killTasks && ', and what ran was killed'}. {freezeNow.priorityFreeze.message}{' '}
              {freezeNow.user} <Time at={freezeNow.timestamp} /> <ActionButton action={freeze} label="Change" />
              <ActionButton action={endFreeze} />
            </p>
          )
        }
      </Panel>
      <h2>Actions that are switched off</h2>
      <p>
        <ActionButton action={disable} />
      </p>
      <Panel of={disabled}>
        {(actions) => (
          <Table
            label="Actions that are switched off"
            rows={actions}
            columns={actionColumns}
            keyOf={({ type }) => type}
            empty="None."
          />
        )}
      </Panel>
    </>
  );
}

function Points({ points }: { points: readonly DisasterDataPoint[] }) {
  const inOrder = points.toSorted((a, b) => a.timestamp - b.timestamp);
  const last = inOrder.at(-1);
  if (!last) return <p className="empty">Nothing was measured yet.</p>;
  const count = (value: number): string => String(value);
  const series: readonly (readonly [string, (point: DisasterDataPoint) => number, (value: number) => string])[] = [
    ['Active tasks', (point) => point.numActiveTasks, count],
    ['Pending tasks', (point) => point.numPendingTasks, count],
    ['Late tasks', (point) => point.numLateTasks, count],
    ['Lost tasks', (point) => point.numLostTasks, count],
    ['Task lag on average', (point) => point.avgTaskLagMillis, formatDuration],
    ['Active machines', (point) => point.numActiveSlaves, count],
    ['Lost machines', (point) => point.numLostSlaves, count],
  ];
  return (
    <div className="charts">
      {series.map(([label, valueOf, format]) => (
        <Sparkline key={label} label={label} values={inOrder.map(valueOf)} format={format} />
      ))}
    </div>
  );
}
