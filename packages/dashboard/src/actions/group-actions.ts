import type { RequestGroup } from 'muster-client';
import { muster } from '../api';
import type { Action, Go } from './action';

const outdates = [['groups'], ['request', 'group']];

/** Makes a group, or changes one as a whole. */
export const saveGroup = (group?: RequestGroup): Action => ({
  id: 'save-group',
  label: group ? 'Change group' : 'Make group',
  explains: 'A group is a list of requests that are looked at and acted on together. The scheduler does not heed it.',
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
  ],
  run: (values) =>
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
      },
    }),
  done: 'The group is saved',
  outdates,
  afterwards: (answer, _values, go: Go) => go(`/group/${encodeURIComponent((answer as RequestGroup).id)}`),
});

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
