import { ApiExtension } from '@nestjs/swagger';

/** How the served document says so, until it is written. */
export const shownAt = 'x-shown-at';

/** On a handler whose path settings decide: where the served document shows it, such as "/{uiPath}". */
export const ShownAt = (path: string) => ApiExtension(shownAt, path);
