import { readFileSync } from 'node:fs';
import type { LocalClusterSettings } from '../settings.js';
import { ownUser } from './own-user.js';
import { usableRange } from './user-numbers.js';

type UserSettings = Pick<LocalClusterSettings, 'tasksRunAs' | 'taskUsers' | 'requireIsolation'>;

export const rangeHere = ({ taskUsers }: Pick<UserSettings, 'taskUsers'>) => {
  const [uids = '', gids = ''] = ['uid_map', 'gid_map'].map((name) => readFileSync(`/proc/self/${name}`, 'utf8'));
  return usableRange(taskUsers, uids, gids);
};

interface Sharing {
  /** Warning for operators at each start. */
  warning: string;
  /** Reason why the agent must not start; undefined: it may. */
  problem: string | undefined;
}

/** Sharing of this process's user with its tasks; undefined: they get others. */
export function sharingOf(settings: UserSettings): Sharing | undefined {
  const why = whyShared(settings);
  if (why === undefined) return undefined;
  const warning =
    `Tasks share the user of the agent (${why}): who may deploy can read and end other tasks, and read what the agent and a scheduler of ` +
    'this user hold: the secret of the agent, and DATABASE_URL with its password. Their limits of processor, memory and processes are off, or ' +
    'can be lifted by them';
  const problem = `agent.requireIsolation: tasks would share the user of the agent (${why})`;
  return { warning, problem: settings.requireIsolation ? problem : undefined };
}

function whyShared(settings: UserSettings): string | undefined {
  const { uid, username } = ownUser();
  if (uid !== 0) return `'${username}' is not root`;
  if (!rangeHere(settings)) return 'there is no other one in its user namespace';
  return settings.tasksRunAs === 'AGENT' ? 'cluster.local.tasksRunAs is AGENT' : undefined;
}
