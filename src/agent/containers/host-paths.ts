import { lstat, realpath } from 'node:fs/promises';
import { dirname, normalize } from 'node:path';
import type { ContainerInfo } from '../../core/model/deploy.js';
import type { ContainerSettings } from '../../platform/settings/container-settings.js';
import type { AgentContext } from '../agent-context.js';
import { DeployFault } from '../artifacts/order.js';
import { mayBeRoot, refusedHostPath } from './rules.js';

type HostPathContext = {
  settings: { containers: ContainerSettings };
  directory: Pick<AgentContext['directory'], 'root' | 'allSandboxes'>;
};

/** Real paths of volumes of the machine, in their order; undefined: a volume with another source. */
export const hostPathsOf = (info: ContainerInfo, context: HostPathContext): Promise<(string | undefined)[]> =>
  Promise.all(
    (info.volumes ?? []).map((volume) =>
      volume.source?.type === 'DOCKER_VOLUME' || volume.source?.dockerVolume
        ? undefined
        : realHostPath(volume.hostPath ?? volume.containerPath ?? '', context),
    ),
  );

/**
 * The path without the links on its way, which may lead out of what is allowed. The engine looks at the path once more when it
 * starts the container, so nobody but the operator may be able to put a link there meanwhile: neither another user of the
 * machine, nor a container that has a directory on the way as a volume and is root (or the agent's user) there.
 */
async function realHostPath(path: string, { settings, directory }: HostPathContext): Promise<string> {
  const { containers } = settings;
  const allowed = containers.allowedHostPaths;
  const real = await realpath(path).catch(() => {
    throw new DeployFault(`Volume ${path}: there is no such path on this machine`);
  });
  const realDirectories = (await Promise.all(allowed.map((each) => realpath(each).catch(() => each)))).map(normalize);
  const closed = [directory.root, ...directory.allSandboxes];
  const refusal =
    refusedHostPath(real, { allowedHostPaths: realDirectories }, closed) ??
    refusedHostPath(path, { allowedHostPaths: allowed }, closed);
  if (refusal !== undefined) throw new DeployFault(`Volume ${path} ${refusal}`);
  const shownDirectories = [...realDirectories, ...allowed.map(normalize)].map(withoutEnd);
  // On the way to the name that was given there may be links; who can change one of their directories chooses what is real.
  for (const place of new Set([...directoriesAbove(real), ...directoriesAbove(withoutEnd(normalize(path)))])) {
    const isShown = shownDirectories.some((shown) => place === shown || place.startsWith(`${shown}/`));
    if ((isShown && ownersAreInContainers(containers)) || (await othersCanReplace(place, isShown)))
      throw new DeployFault(`Volume ${path}: others can change ${place}, and so what it would show`);
  }
  return real;
}

const withoutEnd = (path: string): string => path.replace(/\/+$/, '');

/** From the one that the path lies in up to the root. */
function directoriesAbove(path: string): string[] {
  return path === '/' || path === '' ? [] : [dirname(path), ...directoriesAbove(dirname(path))];
}

/** True when a container may be a user whose directories are trusted otherwise: root, or the agent's own. */
const ownersAreInContainers = (containers: ContainerSettings): boolean =>
  process.getuid?.() !== 0 || mayBeRoot(containers);

/**
 * True when others can replace the entries of a directory. The sticky bit leaves that to their owners, which is no
 * protection in a directory that containers see.
 */
async function othersCanReplace(directory: string, isShown: boolean): Promise<boolean> {
  const stats = await lstat(directory);
  // A link is replaced by who can change the directory that it lies in.
  if (stats.isSymbolicLink()) return false;
  const { uid, gid, mode } = stats;
  if (uid !== 0 && uid !== process.getuid?.()) return true;
  const writers = mode & (isShown || gid !== 0 ? 0o022 : 0o002);
  return writers !== 0 && (isShown || (mode & 0o1000) === 0);
}
