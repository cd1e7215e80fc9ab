import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { LocalClusterSettings } from '../settings.js';
import { usableRange } from './user-numbers.js';

type UserSettings = Pick<LocalClusterSettings, 'tasksRunAs' | 'taskUsers' | 'requireIsolation'>;

export const rangeHere = ({ taskUsers }: Pick<UserSettings, 'taskUsers'>) => {
  const [uids = '', gids = ''] = ['uid_map', 'gid_map'].map((name) => readFileSync(`/proc/self/${name}`, 'utf8'));
  return usableRange(taskUsers, uids, gids);
};

/** Why an agent of this process's user gives its tasks that user; undefined: they get others. */
export function whyShared(settings: UserSettings): string | undefined {
  const { uid, username } = userInfo();
  if (uid !== 0) return `'${username}' is not root`;
  if (!rangeHere(settings)) return 'there is no other one in its user namespace';
  return settings.tasksRunAs === 'AGENT' ? 'cluster.local.tasksRunAs is AGENT' : undefined;
}

/** What operators are told of it at each start. */
export const sharedWarning = (why: string): string =>
  `Tasks share the user of the agent (${why}): who may deploy can read and end other tasks, and read what the agent and a scheduler of ` +
  'this user hold: the secret of the agent, and DATABASE_URL with its password. Their limits of processor, memory and processes are off, or ' +
  'can be lifted by them';

/** Why the agent must not start; undefined: it may. */
export function isolationProblem(settings: UserSettings): string | undefined {
  const why = settings.requireIsolation ? whyShared(settings) : undefined;
  return why && `agent.requireIsolation: tasks would share the user of the agent (${why})`;
}
