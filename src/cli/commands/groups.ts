import { remote } from '../remote/session.js';
import { type Define, examples } from '../run.js';

interface Flags {
  save?: string[];
  remove?: boolean;
}

/** Requests that belong together. */
export function groups(...[command, run]: Parameters<Define>): void {
  command
    .argument('[id]', 'id of the group')
    .option('--save <request...>', 'save the group with these requests')
    .option('--remove', 'remove the group; its requests stay');
  examples(
    command,
    'muster groups shop --save web worker',
    'muster groups',
    'muster groups shop',
    'muster groups shop --remove',
  );
  remote<Flags, [string?]>(command, run, async ({ api, out }, { save, remove }, id) => {
    if (id === undefined) {
      if (save || remove) return command.error('error: --save and --remove need the id of a group');
      const all = await api.groups.list({});
      const rows = all.map((each) => [each.id, each.requestIds.join(' ')]);
      return out.answer(all, () => out.table(['GROUP', 'REQUESTS'], rows));
    }
    if (remove) {
      await api.groups.remove({ requestGroupId: id });
      return out.answer({ id, removed: true }, () => `${id} is removed`);
    }
    const group = save
      ? await api.groups.save({ body: { id, requestIds: save } })
      : await api.groups.get({ requestGroupId: id });
    await out.answer(group, () => group.requestIds.forEach((each) => out.text(each)));
  });
}
