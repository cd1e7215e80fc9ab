import type { RequestGroup, TimeWindow } from 'muster-client';
import { CliError } from '../exit-codes.js';
import { documentsIn, readText, shownName } from '../files/read-text.js';
import { isMissing } from '../remote/refusal.js';
import { remote } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { shownTime } from '../words.js';

interface Flags {
  save?: string[];
  windows?: string;
  anyTime?: boolean;
  remove?: boolean;
}

/** Requests that belong together. */
export function groups(...[command, run]: Parameters<Define>): void {
  command
    .argument('[id]', 'id of the group')
    .option('--save <request...>', 'save the group with these requests')
    .option('--windows <file>', 'deploys of its requests start in the deployWindows of this file only (- for stdin)')
    .option('--any-time', 'deploys of its requests start at any time again')
    .option('--remove', 'remove the group; its requests stay');
  examples(
    command,
    'muster groups shop --save web worker',
    'muster groups',
    'muster groups shop',
    'muster groups shop --windows windows.yml',
    'muster groups shop --remove',
  );
  remote<Flags, [string?]>(command, run, async ({ api, out }, { save, windows, anyTime, remove }, id) => {
    const isChange = save !== undefined || windows !== undefined || anyTime === true;
    if (id === undefined) {
      if (isChange || remove) return command.error('error: changes need the id of a group');
      const all = await api.groups.list({});
      const rows = all.map((each) => [each.id, each.requestIds.join(' '), shownWindows(each)]);
      return out.answer(all, () => out.table(['GROUP', 'REQUESTS', 'DEPLOYS ONLY'], rows));
    }
    if (remove) {
      await api.groups.remove({ requestGroupId: id });
      return out.answer({ id, removed: true }, () => `${id} is removed`);
    }
    if (windows !== undefined && anyTime) return command.error('error: --windows and --any-time exclude each other');
    const given = windows === undefined ? undefined : windowsIn(windows);
    const stored = await api.groups.get({ requestGroupId: id }).catch((cause: unknown) => {
      if (isMissing(cause) && save) return undefined;
      throw cause;
    });
    // A call replaces the group as a whole.
    const group = isChange
      ? await api.groups.save({
          body: {
            ...stored,
            id,
            requestIds: save ?? stored?.requestIds ?? [],
            deployWindows: anyTime ? undefined : (given ?? stored?.deployWindows),
          },
        })
      : stored!;
    await out.answer(group, () => group.requestIds.forEach((each) => out.text(each)));
  });
}

/** A list of windows, or a map with deployWindows. The server says what is wrong with them. */
function windowsIn(file: string): TimeWindow[] {
  const refuse = (line: number, message: string): never => {
    throw new CliError('usage', `${shownName(file)}:${line}: ${message}`);
  };
  const [read, ...more] = documentsIn(readText(file), refuse);
  const content = read?.document.toJS() as TimeWindow[] | { deployWindows?: TimeWindow[] } | undefined;
  const windows = Array.isArray(content) ? content : content?.deployWindows;
  if (more.length === 0 && Array.isArray(windows)) return windows;
  return refuse(1, 'must be one list of windows, or a map with deployWindows');
}

const shownWindows = ({ deployWindows = [] }: RequestGroup): string =>
  deployWindows
    .map(({ schedule, scheduleTimeZone = 'UTC', from, to }) =>
      schedule === undefined ? `${shownTime(from)} to ${shownTime(to)}` : `${schedule} (${scheduleTimeZone})`,
    )
    .join('; ');
