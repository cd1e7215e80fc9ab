import { existsSync, renameSync, rmSync } from 'node:fs';

/**
 * Has `make` fill a directory beside this one, and puts that in its place: a half build is never seen. `make` creates the directory it is
 * given, by the umask: one of mkdtemp would be closed to all users but the one who builds.
 */
export async function intoPlace(directory, make) {
  const [fresh, old] = ['new', 'old'].map((name) => `${directory}.${name}-${process.pid}`);
  const clear = () => [fresh, old].forEach((each) => rmSync(each, { recursive: true, force: true }));
  clear();
  try {
    await make(fresh);
    // Aside rather than removed: a program that starts meanwhile misses it for a moment at most.
    if (existsSync(directory)) renameSync(directory, old);
    renameSync(fresh, directory);
  } finally {
    clear();
  }
}
