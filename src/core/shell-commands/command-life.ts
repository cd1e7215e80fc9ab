import type { ShellCommandUpdateType } from '../model/enums.js';

/** Nothing more comes of the command: it was refused, ran to its end (however that was), or could not. */
export const isFinal = (type: ShellCommandUpdateType): boolean =>
  type === 'INVALID' || type === 'FINISHED' || type === 'FAILED';

/** The name as ids of commands carry it: it can stand in a path. */
export const safeName = (name: string): string => name.replaceAll('/', '');
