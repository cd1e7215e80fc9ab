import type { ActionType, DisasterType, MachineChangeRequest, MachineState } from 'muster-client';
import { CliError } from '../exit-codes.js';
import { stateCell } from '../output/output.js';
import { remote, type Session } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { age, durationMillis, shownTime } from '../words.js';
import { groups } from './groups.js';
import { webhooks } from './webhooks.js';
import { isTask } from './history.js';

export const cluster: Record<string, Define> = {
  machines,
  freeze: machine('freeze', 'frozen', 'muster freeze slave1 --for 1h -m "looks odd"'),
  decommission: machine('decommission', 'being decommissioned', 'muster decommission slave1 -m "is replaced"'),
  activate: machine('activate', 'active', 'muster activate slave1'),
  disasters,
  groups,
  webhooks,
  open,
};

interface MachinesFlags {
  racks?: boolean;
  state?: string;
  quiet?: boolean;
}

function machines(...[command, run]: Parameters<Define>): void {
  command
    .argument('[machine]', 'show the past states of this machine')
    .option('--racks', 'list racks instead of machines')
    .option(
      '--state <state>',
      'only machines in this state: active, frozen, decommissioning, decommissioned, dead, ...',
    )
    .option('-q, --quiet', 'print ids only');
  examples(
    command,
    'muster machines',
    'muster machines --racks',
    'muster machines slave1',
    'muster machines --state dead -q',
  );
  remote<MachinesFlags, [string?]>(command, run, async ({ api, out }, flags, id) => {
    if (id !== undefined) {
      const states = await (flags.racks ? api.racks.history({ rackId: id }) : api.slaves.history({ slaveId: id }));
      const known =
        states.length > 0 ||
        (flags.racks
          ? (await api.racks.list({})).some((each) => each.id === id)
          : await api.slaves.get({ slaveId: id }));
      if (!known) throw new CliError('notFound', `No rack with id '${id}'`);
      const rows = states.map((each) => [shownTime(each.timestamp), stateCell(each.state), each.user, each.message]);
      return out.answer(states, () => out.table(['WHEN', 'STATE', 'WHO', 'MESSAGE'], rows));
    }
    const state = flags.state?.toUpperCase().replaceAll('-', '_') as MachineState | undefined;
    const query = state === undefined ? {} : { state };
    const all = flags.racks ? await api.racks.list(query) : await api.slaves.list(query);
    await out.answer(all, () => {
      if (flags.quiet) return all.forEach((each) => out.text(each.id));
      if (flags.racks) {
        const rows = all.map((each) => [each.id, stateCell(each.currentState.state), age(each.currentState.timestamp)]);
        return out.table(['RACK', 'STATE', 'FOR'], rows);
      }
      return out.table(['MACHINE', 'STATE', 'FOR', 'HOST', 'RACK', 'CPUS', 'MEMORY'], (all as Slaves).map(slaveRow));
    });
  });
}

type Slaves = Awaited<ReturnType<Session['api']['slaves']['list']>>;

const slaveRow = ({ id, currentState, host, rackId, resources }: Slaves[number]) => [
  id,
  stateCell(currentState.state),
  age(currentState.timestamp),
  host,
  rackId,
  resources?.cpus,
  resources?.mem,
];

interface MachineFlags {
  rack?: boolean;
  message?: string;
  for?: string;
  killTasks?: boolean;
}

/** The state to which a change that lapses goes back. */
const revertTo = { freeze: 'ACTIVE', decommission: 'ACTIVE', activate: 'FROZEN' } as const;

function machine(verb: 'freeze' | 'decommission' | 'activate', done: string, example: string): Define {
  return (command, run) => {
    command
      .argument('<machine>', 'id of the machine; with --rack, of a rack')
      .option('--rack', 'change a rack with all its machines')
      .option('-m, --message <text>', 'reason, kept with the state')
      .option('--for <time>', 'revert after this time, such as 30m');
    examples(command, example);
    remote<MachineFlags, [string]>(command, run, async ({ api, out }, flags, id) => {
      const body: MachineChangeRequest = {
        ...(flags.message !== undefined && { message: flags.message }),
        ...(flags.for !== undefined && {
          durationMillis: durationMillis('--for', flags.for),
          revertToState: revertTo[verb],
        }),
      };
      await (flags.rack ? api.racks[verb]({ rackId: id, body }) : api.slaves[verb]({ slaveId: id, body }));
      await out.answer({ id, done: verb }, () => `${id} is ${done}`);
    });
  };
}

interface DisasterFlags {
  declare?: string;
  end?: string;
  disable?: string;
  enable?: string;
  message?: string;
  exceptGroup?: string[];
}

const word = (text: string): string => text.toUpperCase().replaceAll('-', '_');

function disasters(...[command, run]: Parameters<Define>): void {
  command
    .option('--declare <type>', 'declare a disaster: user-initiated, lost-slaves, lost-tasks, excessive-task-lag')
    .option('--end <type>', 'end a declared disaster')
    .option('--disable <action>', 'disable an action, such as bounce-request; refused calls get the message')
    .option('--enable <action>', 'enable an action again')
    .option('-m, --message <text>', 'reason, with --disable')
    .option(
      '--except-group <group...>',
      'with --disable deploy: requests of these groups may be deployed all the same',
    );
  examples(
    command,
    'muster disasters',
    'muster disasters --disable bounce-request -m "the network is being mended"',
    'muster disasters --enable bounce-request',
    'muster disasters --disable deploy --except-group payments -m "code freeze until 2 January"',
  );
  remote<DisasterFlags, []>(command, run, async ({ api, out }, flags) => {
    if (flags.declare !== undefined) await api.disasters.activate({ type: word(flags.declare) as DisasterType });
    if (flags.end !== undefined) await api.disasters.deactivate({ type: word(flags.end) as DisasterType });
    if (flags.disable !== undefined) {
      const type = word(flags.disable) as ActionType;
      const body = {
        ...(flags.message !== undefined && { message: flags.message }),
        ...(flags.exceptGroup && { exceptGroups: flags.exceptGroup }),
      };
      await api.disasters.disableAction({ action: type, body });
    }
    if (flags.enable !== undefined) await api.disasters.enableAction({ action: word(flags.enable) as ActionType });
    const [stats, disabledActions] = await Promise.all([api.disasters.stats({}), api.disasters.disabledActions({})]);
    const { disasters: all, automatedActionsDisabled, stats: figures } = stats;
    await out.answer({ disasters: all, automatedActionsDisabled, disabledActions, stats: figures }, async () => {
      const cell = (active: boolean) => ({ text: active ? 'yes' : 'no', style: active ? ('red' as const) : undefined });
      await out.table(
        ['DISASTER', 'ACTIVE'],
        all.map(({ type, active }) => [type, cell(active)]),
      );
      if (disabledActions.length > 0) {
        out.line('');
        const rows = disabledActions.map(({ type, expiresAt, user, message, exceptGroups }) => [
          type,
          expiresAt === undefined ? 'enabled' : shownTime(expiresAt),
          user,
          message,
          exceptGroups?.join(', '),
        ]);
        await out.table(['DISABLED', 'UNTIL', 'WHO', 'MESSAGE', 'EXCEPT GROUPS'], rows);
      }
    });
  });
}

function open(...[command, run]: Parameters<Define>): void {
  command
    .argument('[what]', 'id of a request or a task; default: the start page')
    .option('--print', 'print the address instead of opening it');
  examples(command, 'muster open --print', 'muster open web --print');
  remote<{ print?: boolean }, [string?]>(command, run, async ({ api, address, out }, { print }, what) => {
    const kind = what !== undefined && (await isTask(api, what)) ? 'task' : 'request';
    const path = what === undefined ? '' : `/${kind}/${encodeURIComponent(what)}`;
    const url = `${address.url}/ui${path}`;
    if (!print && !out.isJson) await (await import('open')).default(url);
    await out.answer({ url }, () => url);
  });
}
