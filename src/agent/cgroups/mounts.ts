import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A mounted cgroup hierarchy and where in it this process is. */
export interface CgroupMount {
  version: 1 | 2;
  /** Version 1: what is attached to the hierarchy, such as cpu and cpuacct. Version 2 lists them in a file. */
  controllers: string[];
  root: string;
  /** Directory of this process's own cgroup; the root when it cannot be seen from here, as in some containers. */
  own: string;
}

/** `mounts` and `cgroup` are the texts of /proc/self/mounts and /proc/self/cgroup. */
export function parseMounts(mounts: string, cgroup: string): CgroupMount[] {
  const own = ownPaths(cgroup);
  return mounts.split('\n').flatMap((line): CgroupMount[] => {
    const [, point = '', type, options = ''] = line.split(' ');
    const root = unescape(point);
    const place = (path: string | undefined) => {
      const directory = join(root, path ?? '/');
      return existsSync(directory) ? directory : root;
    };
    if (type === 'cgroup2') return [{ version: 2, controllers: [], root, own: place(own.get('')) }];
    if (type !== 'cgroup') return [];
    const controllers = options.split(',').filter((option) => own.has(option));
    return controllers[0] ? [{ version: 1, controllers, root, own: place(own.get(controllers[0])) }] : [];
  });
}

export const readMounts = (): CgroupMount[] =>
  parseMounts(readFileSync('/proc/self/mounts', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'));

/**
 * The mounts with our own place taken to be where the groups were made before: an agent that is started again, perhaps
 * from another session, finds the groups of its tasks again.
 */
export function keepPlaces(mounts: readonly CgroupMount[], parents: readonly string[]): CgroupMount[] {
  return mounts.map((mount) => {
    const before = parents.find((parent) => parent.startsWith(`${mount.root}/`) && existsSync(parent));
    return before === undefined ? mount : { ...mount, own: dirname(before) };
  });
}

/** By controller; version 2 is the one without a name. */
export function ownPaths(cgroup: string): Map<string, string> {
  const paths = new Map<string, string>();
  for (const line of cgroup.split('\n').filter(Boolean)) {
    const [, controllers = '', ...path] = line.split(':');
    for (const controller of controllers.split(',')) paths.set(controller, path.join(':'));
  }
  return paths;
}

/** Spaces in a mount point are written as octal codes. */
const unescape = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_match, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
