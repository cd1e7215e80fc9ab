import type { RequestGroup } from 'muster-client';
import { muster } from '../api';
import type { Action, Go } from './action';

const outdates = [['groups'], ['request', 'group']];

/** Makes a group, or changes one as a whole. */
export const saveGroup = (group?: RequestGroup): Action => ({
  id: 'save-group',
  label: group ? 'Change group' : 'Make group',
  explains: 'A group is a list of requests that are looked at and acted on together. Deploys of them heed its windows.',
  fields: [
    ...(group ? [] : [{ kind: 'text', name: 'id', label: 'Id' } as const]),
    { kind: 'lines', name: 'requestIds', label: 'Requests, one a line', initial: group?.requestIds?.join('\n') ?? '' },
    {
      kind: 'lines',
      name: 'metadata',
      label: 'Notes, NAME=value a line',
      initial: Object.entries(group?.metadata ?? {})
        .map(([name, value]) => `${name}=${value}`)
        .join('\n'),
    },
    {
      kind: 'lines',
      name: 'deployWindows',
      label: 'Deploys start only in these windows, as JSON',
      help: '[{"schedule": "0 9 * * MON-THU", "durationMillis": 28800000}], or windows with "from" and "to"',
      initial: group?.deployWindows ? JSON.stringify(group.deployWindows, null, 1) : '',
    },
  ],
  run: async (values) =>
    muster.groups.save({
      body: {
        id: group?.id ?? values.text('id') ?? '',
        requestIds: values.lines('requestIds').map((line) => line.trim()),
        metadata: Object.fromEntries(
          values.lines('metadata').map((line) => {
            const [name = ''] = line.split('=');
            return [name.trim(), line.slice(name.length + 1)];
          }),
        ),
        deployWindows: windowsIn(values.text('deployWindows')),
      },
    }),
  done: 'The group is saved',
  outdates,
  afterwards: (answer, _values, go: Go) => go(`/group/${encodeURIComponent((answer as RequestGroup).id)}`),
});

function windowsIn(text: string | undefined): RequestGroup['deployWindows'] {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as RequestGroup['deployWindows'];
  } catch (cause) {
    throw new Error(`The windows are no JSON: ${(cause as Error).message}`, { cause });
  }
}

export const removeGroup = ({ id }: RequestGroup): Action => ({
  id: 'remove-group',
  label: 'Remove group',
  isDangerous: true,
  explains: `The group ${id} is kept no more. Its requests stay as they are.`,
  fields: [],
  run: () => muster.groups.remove({ requestGroupId: id }),
  done: `The group ${id} is removed`,
  outdates,
  afterwards: (_answer, _values, go) => go('/groups'),
});
