import type { WebhookType } from '../model/enums.js';
import { makeTaskId } from '../task-id.js';

const requestId = 'webhook-test';
const deployId = 'test';
const message = 'This update was asked for, to see whether it arrives: nothing has happened';

export interface SampleUpdate {
  placeholders: Record<string, string>;
  body: unknown;
}

/** An update in the form of those of this type, about a request that does not exist. */
export function sampleUpdate(type: WebhookType, now: number): SampleUpdate {
  const ofRequest = { REQUEST_ID: requestId };
  const ofDeploy = { ...ofRequest, DEPLOY_ID: deployId };
  const request = { id: requestId, requestType: 'ON_DEMAND' };
  const deploy = { requestId, id: deployId };
  const marker = { requestId, deployId, timestamp: now, message };
  switch (type) {
    case 'REQUEST':
      return { placeholders: ofRequest, body: { createdAt: now, eventType: 'UPDATED', request, message } };
    case 'DEPLOY':
      return { placeholders: ofDeploy, body: { deployMarker: marker, deploy, eventType: 'STARTING' } };
    case 'CRASHLOOP':
      return { placeholders: ofDeploy, body: { requestId, deployId, start: now, end: now, type: 'FAST_FAILURE_LOOP' } };
    case 'ELEVATED_ACCESS':
      return {
        placeholders: { ...ofRequest, USER_ID: requestId, SCOPE: 'READ' },
        body: { user: requestId, requestId, scope: 'READ', createdAt: now },
      };
    case 'TASK': {
      const taskId = makeTaskId({ requestId, deployId, startedAt: now, instanceNo: 1, host: 'host', rackId: 'rack' });
      const task = { taskId, taskRequest: { request, deploy } };
      const taskUpdate = { taskId, timestamp: now, taskState: 'TASK_LAUNCHED', statusMessage: message, previous: [] };
      return { placeholders: { ...ofDeploy, TASK_ID: taskId.id }, body: { task, taskUpdate } };
    }
  }
}
