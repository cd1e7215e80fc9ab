import { isRunnable } from '../model/enums.js';
import type { DeployView } from './view.js';

/** The state of the request lets a deploy go on. */
export const mayDeploy = ({ requestState, settings }: DeployView): boolean =>
  requestState !== 'MISSING' &&
  (isRunnable(requestState) ||
    requestState === 'FINISHED' ||
    (requestState === 'PAUSED' && settings.allowDeployOfPausedRequests));
