import { enumerations, type MachineChangeRequest } from 'muster-client';
import { muster } from '../api';
import { DecommissionPlanView } from '../ui/decommission-plan';
import { expiry, message, type Action, type Field, type Values } from './action';
import { counted } from '../ui/words';

export type MachineKind = 'slave' | 'rack';

interface Machine {
  readonly kind: MachineKind;
  readonly id: string;
  readonly state: string;
  /** Tasks that run there. */
  readonly tasks?: number | undefined;
  readonly isExpiring: boolean;
}

const common = { needs: 'administrator', outdates: [['machines'], ['state'], ['tasks']] } as const;
const leaving = ['DECOMMISSIONING', 'DECOMMISSIONED', 'STARTING_DECOMMISSION', 'FROZEN'];

const back: Field = {
  kind: 'choice',
  name: 'revertToState',
  label: 'State after this time',
  initial: '',
  choices: [
    ['', 'What it was'],
    ...enumerations.MachineState.map((state) => [state, state.toLowerCase().replaceAll('_', ' ')] as const),
  ],
};

const bodyOf = (values: Values): MachineChangeRequest => {
  const durationMillis = values.number('durationMillis');
  const revertToState = values.text('revertToState') as MachineChangeRequest['revertToState'];
  return {
    message: values.text('message'),
    ...(durationMillis !== undefined && { durationMillis, ...(revertToState !== undefined && { revertToState }) }),
    ...(values.isSet('kill') && { killTasksOnDecommissionTimeout: true }),
  };
};

const calls = {
  slave: {
    freeze: (slaveId: string, body: MachineChangeRequest) => muster.slaves.freeze({ slaveId, body }),
    decommission: (slaveId: string, body: MachineChangeRequest) => muster.slaves.decommission({ slaveId, body }),
    plan: (slaveId: string, body: MachineChangeRequest) => muster.slaves.planDecommission({ slaveId, body }),
    activate: (slaveId: string, body: MachineChangeRequest) => muster.slaves.activate({ slaveId, body }),
    remove: (slaveId: string) => muster.slaves.remove({ slaveId }),
    makePermanent: (slaveId: string) => muster.slaves.makePermanent({ slaveId }),
  },
  rack: {
    freeze: (rackId: string, body: MachineChangeRequest) => muster.racks.freeze({ rackId, body }),
    decommission: (rackId: string, body: MachineChangeRequest) => muster.racks.decommission({ rackId, body }),
    plan: (rackId: string, body: MachineChangeRequest) => muster.racks.planDecommission({ rackId, body }),
    activate: (rackId: string, body: MachineChangeRequest) => muster.racks.activate({ rackId, body }),
    remove: (rackId: string) => muster.racks.remove({ rackId }),
    makePermanent: (rackId: string) => muster.racks.makePermanent({ rackId }),
  },
} as const;

/** What may be done with a machine or a rack in its state. */
export function machineActions({ kind, id, state, tasks, isExpiring }: Machine): readonly Action[] {
  const of = calls[kind];
  const timed: readonly Field[] = kind === 'slave' ? [expiry, back] : [];
  const actions: readonly (Action | false)[] = [
    state === 'ACTIVE' && {
      id: 'freeze',
      label: 'Freeze',
      explains: `No further task is started on ${id}; those there go on.`,
      fields: [...timed, message],
      run: (values) => of.freeze(id, bodyOf(values)),
      done: `${id} is frozen`,
      undo: { label: 'Activate', run: () => of.activate(id, {}) },
      ...common,
    },
    (state === 'ACTIVE' || state === 'FROZEN') && {
      id: 'decommission',
      label: 'Decommission',
      isDangerous: true,
      explains: `${tasks === undefined ? 'Its tasks' : counted(tasks, 'task')} of ${id} are replaced elsewhere first, and end then.`,
      fields: [
        ...timed,
        ...(kind === 'slave'
          ? [
              {
                kind: 'check',
                name: 'kill',
                label: 'Kill remaining tasks when the time is over',
                initial: false,
              } as const,
            ]
          : []),
        message,
      ],
      plan: async (values) => <DecommissionPlanView plan={await of.plan(id, bodyOf(values))} />,
      run: (values) => of.decommission(id, bodyOf(values)),
      done: `${id} is being decommissioned`,
      undo: { label: 'Activate', run: () => of.activate(id, {}) },
      ...common,
    },
    leaving.includes(state) && {
      id: 'activate',
      label: 'Activate',
      explains: `Tasks may be started on ${id} again.`,
      fields: [...timed, message],
      run: (values) => of.activate(id, bodyOf(values)),
      done: `${id} is active`,
      ...common,
    },
    isExpiring && {
      id: 'make-permanent',
      label: 'Make its state permanent',
      explains: `${id} stays as it is.`,
      fields: [],
      run: () => of.makePermanent(id),
      done: 'It stays',
      ...common,
    },
    state !== 'ACTIVE' &&
      state !== 'FROZEN' && {
        id: 'remove',
        label: 'Remove',
        isDangerous: true,
        explains: `Removes the record of ${id}. It comes back when the machine does.`,
        fields: [],
        typed: id,
        run: () => of.remove(id),
        done: `${id} is removed`,
        ...common,
      },
  ];
  return actions.filter((action) => action !== false);
}
