import { join } from 'node:path';
import { inject } from 'vitest';

/** The programs of the agent, bundled from their sources once for the whole run: they start as fast as in the product. */
const programIn = (path: string): string => join(inject('agentPrograms'), path);

export const agentProgram = programIn('agent/main.js');
export const podAgentProgram = programIn('pod-agent/main.js');
export const hangGuard = programIn('agent/processes/hang-guard.js');
export const uploadsFolder = programIn('agent/uploads');
/** Words after `node`. */
export const fetchProgram = [programIn('agent/artifacts/fetch-main.js')];
export const rotateProgram = [programIn('agent/logs/rotate-main.js')];
export const uploadProgram = [programIn('agent/uploads/upload-main.js')];
