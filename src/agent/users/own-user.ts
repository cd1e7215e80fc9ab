import { userInfo } from 'node:os';

export interface OwnUser {
  uid: number;
  username: string;
}

/** The user of this process. Containers may be given one without an account: its number is its name then. */
export function ownUser(): OwnUser {
  try {
    const { uid, username } = userInfo();
    return { uid, username };
  } catch {
    const uid = process.getuid?.() ?? -1;
    return { uid, username: String(uid) };
  }
}
