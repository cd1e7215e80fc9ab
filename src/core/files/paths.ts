/** Both without '..' and the like. */
export const isBelow = (path: string, folder: string): boolean =>
  path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
export const staysInside = (path: string): boolean =>
  !path.startsWith('/') && !path.includes('\0') && !path.split('/').includes('..');
