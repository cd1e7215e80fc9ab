/** Both without '..' and the like. */
export const isBelow = (path: string, directory: string): boolean =>
  path.startsWith(directory.endsWith('/') ? directory : `${directory}/`);
export const staysInside = (path: string): boolean =>
  !path.startsWith('/') && !path.includes('\0') && !path.split('/').includes('..');
/** The path of a URL as a deploy may write it. */
export const withSlash = (uri: string): string => (uri.startsWith('/') ? uri : `/${uri}`);
